//! The function that calls the kernel of a source with what is in slots.
//!
//! A true source has the parameters of its module, in their order. A decompiled one says with attributes what a parameter is,
//! and may have more: what a module asks a function for, a source has as a parameter.

use super::llvm_text::split;
use super::module::Slot;

/// Returns the entry of a kernel whose parameters are the slots.
pub(super) fn in_order(kernel: &str) -> String {
    format!("HOST_ENTRY({kernel})\n")
}

/// Returns the entry of a decompiled kernel, and adds slots for positions that the module does not have. An error is an
/// attribute without a slot.
pub(super) fn by_attributes(source: &str, name: &str, slots: &mut Vec<Slot>) -> Result<String, String> {
    let mut places = Vec::new();
    for parameter in parameters(source, name).ok_or("a kernel without parameters")? {
        let attribute = attribute(parameter).ok_or_else(|| format!("no attribute: {parameter}"))?;
        let found = slots.iter().position(|slot| is_slot(slot, attribute));
        let place = match found {
            Some(place) => place,
            None if attribute.contains('(') => return Err(format!("no argument for {attribute}")),
            None => {
                slots.push(Slot::Position(attribute.to_owned()));
                slots.len() - 1
            }
        };
        places.push(place.to_string());
    }
    Ok(format!(
        "extern \"C\" void host_entry(void **slots) {{\n  host::call({name}, slots, \
         metal::index_sequence<{}>());\n}}\n",
        places.join(", ")
    ))
}

/// Returns the parameters of a function, as they are written.
fn parameters<'s>(source: &'s str, name: &str) -> Option<Vec<&'s str>> {
    let (_, rest) = source.split_once(&format!(" {name}("))?;
    let mut depth = 1_i32;
    let end = rest.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    })?;
    Some(split(&rest[..end], ',').into_iter().map(str::trim).filter(|one| !one.is_empty()).collect())
}

/// Returns the first attribute of a parameter, without the function constant that decides whether it is there.
fn attribute(parameter: &str) -> Option<&str> {
    let (_, rest) = parameter.split_once("[[")?;
    let (attributes, _) = rest.split_once("]]")?;
    Some(attributes.split(',').next()?.trim())
}

fn is_slot(slot: &Slot, attribute: &str) -> bool {
    match slot {
        Slot::Buffer { location, .. } => attribute == format!("buffer({location})"),
        Slot::Threadgroup(location) => attribute == format!("threadgroup({location})"),
        Slot::Position(name) => attribute == name,
        Slot::Other(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::module::Slot;
    use super::by_attributes;

    const SOURCE: &str = "kernel void k(\n    device float* a [[buffer(2), function_constant(c)]],\n    uint n [[threads_per_simdgroup]],\n    \
                          threadgroup float* t [[threadgroup(0)]])\n{\n}\n";

    #[test]
    fn parameters_are_found_by_their_attributes() {
        let buffer = Slot::Buffer { location: 2, stride: 4, is_parameter: false, fields: Vec::new() };
        let mut slots = vec![Slot::Threadgroup(0), buffer];
        let entry = by_attributes(SOURCE, "k", &mut slots).unwrap();
        assert!(entry.contains("host::call(k, slots, metal::index_sequence<1, 2, 0>());"));
        assert_eq!(slots[2], Slot::Position("threads_per_simdgroup".into()));
    }

    #[test]
    fn a_buffer_that_the_module_does_not_have_is_an_error() {
        let mut slots = vec![Slot::Threadgroup(0)];
        assert_eq!(by_attributes(SOURCE, "k", &mut slots), Err("no argument for buffer(2)".into()));
    }
}
