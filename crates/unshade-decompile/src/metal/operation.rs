//! Operations of the library.

use super::expression::{Text, precedence as p};
use super::function::Printer;
use super::spelling::{Kind, integer};
use crate::ir::metal::types::{AddressSpace, ValueType};
use crate::ir::metal::{Class, MetalOp};
use crate::ir::{Op, ValueId};

/// Flags of barriers, by bit.
const MEMORY_FLAGS: [(u64, &str); 4] = [
    (1, "mem_flags::mem_device"),
    (2, "mem_flags::mem_threadgroup"),
    (4, "mem_flags::mem_texture"),
    (8, "mem_flags::mem_threadgroup_imageblock"),
];

/// Names of orders, by number.
const ORDERS: [&str; 6] = [
    "memory_order_relaxed",
    "memory_order_consume",
    "memory_order_acquire",
    "memory_order_release",
    "memory_order_acq_rel",
    "memory_order_seq_cst",
];

/// Names of scopes, by number.
const SCOPES: [&str; 5] = [
    "thread_scope_thread",
    "thread_scope_threadgroup",
    "thread_scope_device",
    "thread_scope_system",
    "thread_scope_simdgroup",
];

/// Values that a function gets as parameters: attribute, name and width.
const EXTRA: [(&str, &str, u8); 3] = [
    ("threads_per_simdgroup", "simd_size", 32),
    ("thread_index_in_simdgroup", "simd_lane", 16),
    ("thread_index_in_quadgroup", "quad_lane", 16),
];

/// Returns the name and the width of a parameter that a function gets for an operation.
pub(super) fn extra(attribute: &str) -> (&'static str, u8) {
    EXTRA.iter().find(|row| row.0 == attribute).map_or(("extra", 32), |row| (row.1, row.2))
}

impl Printer<'_> {
    /// Prints an operation that is a statement. Returns whether it is one.
    pub(super) fn metal_statement(&mut self, id: ValueId, op: MetalOp) -> bool {
        let row = op.row();
        let input = |index: usize| self.function.input(id, index);
        match row.stem {
            "wg.barrier" | "simdgroup.barrier" => {
                let flags = self.memory_flags(input(0));
                self.line(&format!("{}({flags});", row.name));
            }
            "atomic.fence" => {
                let flags = self.memory_flags(input(0));
                let order = self.named(input(1), &ORDERS);
                let scope = self.named(input(2), &SCOPES);
                self.line(&format!("atomic_thread_fence({flags}, {order}, {scope});"));
            }
            "atomic.cmpxchg.weak" => self.compare_exchange(id),
            "set_primitive_count_mesh" | "set_index_mesh" | "set_threadgroups_per_grid_mesh_properties" => {
                let mesh = self.pointer(input(0)).text;
                let numbers: Vec<String> = (1..self.function.inputs(id).len())
                    .map(|index| self.value(self.function.input(id, index), Kind::Unsigned, 0))
                    .collect();
                self.line(&format!("{mesh}.{}({});", row.name, numbers.join(", ")));
            }
            "copy_memory" => self.copy_memory(id),
            "set_memory" => self.set_memory(id),
            "simdgroup_matrix_8x8_load" => {
                self.declare(id);
                let name = self.name(id);
                let arguments = self.matrix_arguments(id, 0);
                self.line(&format!("simdgroup_load({name}, {arguments});"));
            }
            "simdgroup_matrix_8x8_store" => {
                let matrix = self.any(input(0), 0);
                let arguments = self.matrix_arguments(id, 1);
                self.line(&format!("simdgroup_store({matrix}, {arguments});"));
            }
            "simdgroup_matrix_8x8_multiply_accumulate" => {
                let [a, b, c] = [0, 1, 2].map(|index| self.any(self.function.input(id, index), 0));
                self.declare(id);
                let name = self.name(id);
                self.line(&format!("simdgroup_multiply_accumulate({name}, {a}, {b}, {c});"));
            }
            _ => return false,
        }
        if row.stem.starts_with("simdgroup_matrix") {
            self.used.includes.insert("metal_simdgroup_matrix");
        }
        true
    }

    /// Returns the arguments of a load or store of a matrix from `first` on: pointer, stride, origin, whether it is transposed.
    fn matrix_arguments(&mut self, id: ValueId, first: usize) -> String {
        let [pointer, stride, origin, transposed] =
            [0, 1, 2, 3].map(|index| self.function.input(id, first + index));
        let pointer = self.pointer(pointer).text;
        // Newer functions have the size of the memory, the distances of columns and rows, and the origin.
        let (stride, origin, transposed) = match self.function.lanes(stride) {
            1 => {
                let stride = self.value(stride, Kind::Unsigned, 0);
                (stride, self.value(origin, Kind::Unsigned, 0), self.truth(transposed, 0))
            }
            _ => {
                let (stride, is_transposed) = self.matrix_stride(origin);
                (stride, self.value(transposed, Kind::Unsigned, 0), is_transposed.to_string())
            }
        };
        match (origin.as_str(), transposed.as_str()) {
            ("ulong2(0)", "false") => format!("{pointer}, {stride}"),
            _ => format!("{pointer}, {stride}, {origin}, {transposed}"),
        }
    }

    /// Returns the distance of the rows of a matrix, and whether these are its columns: one of the two distances is 1.
    fn matrix_stride(&mut self, distances: ValueId) -> (String, bool) {
        let function = self.function;
        let parts = function.inputs(distances);
        let is_one = |id: ValueId| function.number(id) == Some(1);
        if let (Op::Vector, &[columns, rows]) = (function.op(distances), parts)
            && !self.has_variable(distances)
        {
            let (columns, rows) = (function.resolve(columns), function.resolve(rows));
            if is_one(columns) {
                return (self.value(rows, Kind::Unsigned, 0), false);
            }
            if is_one(rows) {
                return (self.value(columns, Kind::Unsigned, 0), true);
            }
        }
        self.unknown.push("a matrix in memory without adjacent elements".into());
        ("0".into(), false)
    }

    fn memory_flags(&mut self, id: ValueId) -> String {
        let flags = self.function.number(id).unwrap_or(u64::MAX);
        let known: u64 = MEMORY_FLAGS.iter().map(|row| row.0).sum();
        if flags & !known != 0 {
            self.unknown.push("flags of a barrier".into());
        }
        let names: Vec<&str> =
            MEMORY_FLAGS.iter().filter(|row| flags & row.0 != 0).map(|row| row.1).collect();
        if names.is_empty() { "mem_flags::mem_none".into() } else { names.join(" | ") }
    }

    fn named(&mut self, id: ValueId, names: &[&'static str]) -> &'static str {
        let number = self.function.number(id).and_then(|number| usize::try_from(number).ok());
        match number.and_then(|number| names.get(number)) {
            Some(name) => name,
            None => {
                self.unknown.push("an order or scope of memory".into());
                names[0]
            }
        }
    }

    /// Prints a comparison and exchange: the variable of the expected value has the old value after it.
    fn compare_exchange(&mut self, id: ValueId) {
        let [pointer, expected, desired, success, failure] =
            [0, 1, 2, 3, 4].map(|index| self.function.input(id, index));
        // The expected value is in a variable of the type of the desired one, whose sign nothing says.
        let atomic = self.atomic_pointer(pointer, desired, Class::Unsigned);
        let kind = match self.kind_of(desired) {
            Kind::Signed => Kind::Unsigned,
            kind => kind,
        };
        let text = self.exact(desired, kind);
        let (success, failure) = (self.named(success, &ORDERS), self.named(failure, &ORDERS));
        let variable = self.pointer_as(expected, self.function.values[desired].ty, 0);
        let call = format!(
            "atomic_compare_exchange_weak_explicit({atomic}, {variable}, {text}, {success}, {failure})"
        );
        self.line(&format!("{call};"));
        if self.schedule.uses[id] > 0 {
            let old = self.place(expected).text;
            self.assign(id, &old);
        }
    }

    /// Prints a copy of memory, byte by byte.
    fn copy_memory(&mut self, id: ValueId) {
        let [to, from, size] = [0, 1, 2].map(|index| self.function.input(id, index));
        let size = self.function.number(size).unwrap_or(0);
        let (to, from) = (self.bytes(to), self.bytes(from));
        self.line(&format!("for (uint i_ = 0; i_ < {size}; i_++)"));
        self.line(&format!("    ({to})[i_] = ({from})[i_];"));
    }

    fn set_memory(&mut self, id: ValueId) {
        let [to, byte, size] = [0, 1, 2].map(|index| self.function.input(id, index));
        let size = self.function.number(size).unwrap_or(0);
        let byte = self.value(byte, Kind::Unsigned, 0);
        let to = self.bytes(to);
        self.line(&format!("for (uint i_ = 0; i_ < {size}; i_++)"));
        self.line(&format!("    ({to})[i_] = {byte};"));
    }

    /// Returns a pointer as one to bytes.
    fn bytes(&mut self, pointer: ValueId) -> String {
        let space = self.address_space(pointer).map_or("thread", super::spelling::space);
        let text = self.pointer(pointer).wrapped(p::UNARY);
        let is_const = if self.places.is_const[pointer] { "const " } else { "" };
        format!("({is_const}{space} uchar*){text}")
    }

    /// Returns an operation that has a value.
    pub(super) fn metal(&mut self, id: ValueId, op: MetalOp) -> Text {
        let row = op.row();
        let own = self.kind_of(id);
        let function = self.function;
        if op.input(0) == 'h' {
            return self.texture(id, op);
        }
        let kind = self.letter_kind(op.result(), op, own);
        match row.stem {
            "fmuladd" => return self.multiply_add(id),
            "simd_ballot" | "quad_ballot" | "simd_active_threads_mask" => {
                let vote = row.stem.split('_').next().unwrap_or("simd");
                let call = match row.stem {
                    "simd_active_threads_mask" => "simd_active_threads_mask()".into(),
                    name => format!("{name}({})", self.truth(function.input(id, 0), 0)),
                };
                let text = format!("{vote}_vote::vote_t({call})");
                let mut text = Text::new(text, p::POSTFIX, Kind::Unsigned);
                if function.width(id) < 64 {
                    text.text = format!("{}({})", integer(function.width(id), false), text.text);
                }
                return text;
            }
            "simd_vote_all" | "simd_vote_any" => {
                let mask = self.value(function.input(id, 0), Kind::Unsigned, 0);
                let name = row.stem.rsplit('_').next().unwrap_or("all");
                return Text::new(format!("simd_vote({mask}).{name}()"), p::POSTFIX, Kind::Bool);
            }
            "get_simdgroup_size" => {
                return self.extra_parameter(
                    "threads_per_simdgroup",
                    extra("threads_per_simdgroup").0,
                    function.width(id),
                );
            }
            "get_thread_index_in_simdgroup" => {
                return self.extra_parameter(
                    "thread_index_in_simdgroup",
                    extra("thread_index_in_simdgroup").0,
                    function.width(id),
                );
            }
            "get_thread_index_in_quadgroup" => {
                return self.extra_parameter(
                    "thread_index_in_quadgroup",
                    extra("thread_index_in_quadgroup").0,
                    function.width(id),
                );
            }
            "funnel_left" | "funnel_right" => return self.funnel(id, row.stem == "funnel_left"),
            "simdgroup_matrix_8x8_init_filled" => {
                self.used.includes.insert("metal_simdgroup_matrix");
                let value = self.any(function.input(id, 0), 0);
                let scalar = self.program.types.scalar_id(function.values[id].ty);
                let scalar = self.naming.type_name(&self.program.types, scalar, false);
                return Text::other(
                    format!("make_filled_simdgroup_matrix<{scalar}, 8, 8>({value})"),
                    p::POSTFIX,
                );
            }
            "simdgroup_matrix_8x8_init_diag" => {
                self.used.includes.insert("metal_simdgroup_matrix");
                let value = self.any(function.input(id, 0), 0);
                let name = self.type_text(id, own);
                return Text::other(format!("{name}({value})"), p::POSTFIX);
            }
            stem if stem.starts_with("atomic.") => return self.atomic(id, op, kind),
            "allocate" => {
                let size = self.exact(function.input(id, 0), Kind::Unsigned);
                let ty = self.type_text(id, own);
                return Text::other(format!("({ty}){}({size})", row.name), p::UNARY);
            }
            "is_function_constant_defined" => {
                let place = self.place(function.input(id, 0)).text;
                return Text::new(format!("is_function_constant_defined({place})"), p::POSTFIX, Kind::Bool);
            }
            _ => {}
        }
        if row.name.is_empty() {
            self.unknown.push(format!("the operation {op}"));
            return Text::new("0", p::POSTFIX, own);
        }
        let mut name = row.name.to_owned();
        // Functions have forms with more or less precision, of which one has the plain name.
        let is_float = matches!(self.scalar_of(id), ValueType::Float(32)) && op.result() == 'f';
        match op.class {
            Class::Fast if !self.program.has_fast_math => name.insert_str(0, "fast::"),
            Class::Plain if is_float && self.program.has_fast_math && has_forms(row.stem) => {
                name.insert_str(0, "precise::");
            }
            _ => {}
        }
        if name.starts_with("pack_float") && function.width(function.input(id, 0)) == 16 {
            name = name.replacen("float", "half", 1);
        }
        if name.starts_with("unpack") && function.width(id) == 16 {
            name = name.replacen("float", "half", 1);
        }
        let mut arguments = Vec::new();
        for index in 0..function.inputs(id).len() {
            let input = function.input(id, index);
            match op.input(index) {
                'm' => {}
                // The result of a function with two results.
                'p' => arguments.push(self.place(input).text),
                letter => {
                    let input_kind = self.kind_of(input);
                    let wanted = if input_kind == Kind::Float {
                        Kind::Float
                    } else {
                        self.letter_kind(letter, op, kind)
                    };
                    arguments.push(self.exact(input, wanted));
                }
            }
        }
        // The number of bits of narrow numbers is an integer of the same width.
        Text::new(format!("{name}({})", arguments.join(", ")), p::POSTFIX, kind)
    }

    fn letter_kind(&self, letter: char, op: MetalOp, own: Kind) -> Kind {
        match letter {
            'f' => Kind::Float,
            'i' => Kind::Signed,
            'u' => Kind::Unsigned,
            'b' => Kind::Bool,
            'c' | 'a' => match op.class {
                Class::Signed if own != Kind::Float => Kind::Signed,
                Class::Unsigned if own != Kind::Float => Kind::Unsigned,
                _ => own,
            },
            _ => own,
        }
    }

    /// Returns a product and a sum.
    fn multiply_add(&mut self, id: ValueId) -> Text {
        let [a, b, c] = [0, 1, 2].map(|index| self.function.input(id, index));
        let [a, b] = [a, b].map(|input| self.value(input, Kind::Float, p::PRODUCT + 1));
        // A negative summand is a difference.
        let sum = self.value(c, Kind::Float, p::SUM + 1);
        let text = match sum.strip_prefix('-') {
            Some(rest) if self.function.number(c).is_none() => format!("{a} * {b} - {rest}"),
            _ => format!("{a} * {b} + {sum}"),
        };
        Text::new(text, p::SUM, Kind::Float)
    }

    /// Returns a shift of two words.
    fn funnel(&mut self, id: ValueId, is_left: bool) -> Text {
        let function = self.function;
        let [high, low, count] = [0, 1, 2].map(|index| function.input(id, index));
        let width = u64::from(function.width(id));
        let Some(count) = function.number(count).map(|count| count % width) else {
            self.unknown.push("a funnel shift".into());
            return Text::new("0", p::POSTFIX, Kind::Unsigned);
        };
        let [high, low] = [high, low].map(|input| self.value(input, Kind::Unsigned, p::SHIFT));
        let left = if is_left { count } else { width - count };
        if count == 0 {
            let text = if is_left { high } else { low };
            return Text::new(text, p::SHIFT, Kind::Unsigned);
        }
        let text = format!("({high} << {left}) | ({low} >> {})", width - left);
        Text::new(text, p::OR, Kind::Unsigned)
    }

    /// Returns a parameter that the function gets for an operation.
    pub(super) fn extra_parameter(&mut self, attribute: &'static str, name: &str, width: u8) -> Text {
        // The function may have the parameter already.
        let own = self.info.parameters.iter().position(|parameter| parameter.attribute == attribute);
        if let Some(own) = own {
            let ty = self.program.types.get(self.info.parameters[own].ty);
            let text = Text::new(self.parameters[own].clone(), p::POSTFIX, Kind::Unsigned);
            return match ty {
                ValueType::Integer(bits, _) if bits == width => text,
                _ => {
                    Text::new(format!("{}({})", integer(width, false), text.text), p::POSTFIX, Kind::Unsigned)
                }
            };
        }
        let known = self.extra.iter().find(|row| row.0 == attribute).map(|row| row.1.clone());
        let name = known.unwrap_or_else(|| {
            let name = self.names.take(name);
            self.extra.push((attribute, name.clone()));
            name
        });
        Text::new(name, p::POSTFIX, Kind::Unsigned)
    }

    /// Returns an operation on memory that no other access interrupts.
    fn atomic(&mut self, id: ValueId, op: MetalOp, kind: Kind) -> Text {
        let function = self.function;
        let row = op.row();
        let has_value = row.stem != "atomic.load";
        let value = if has_value { function.input(id, 1) } else { id };
        let own = self.kind_of(value);
        let number = match op.class {
            Class::Signed if own != Kind::Float => Kind::Signed,
            Class::Unsigned if own != Kind::Float => Kind::Unsigned,
            _ => own,
        };
        let pointer = self.atomic_pointer(function.input(id, 0), value, op.class);
        let order = self.named(function.input(id, if has_value { 2 } else { 1 }), &ORDERS);
        let mut name = row.name.to_owned();
        if function.width(value) == 64 && function.width(id) == 0 && row.stem != "atomic.store" {
            name = name.replace("fetch_", "");
        }
        let text = if has_value {
            let value = self.exact(value, number);
            format!("{name}({pointer}, {value}, {order})")
        } else {
            format!("{name}({pointer}, {order})")
        };
        Text::new(text, p::POSTFIX, if kind == Kind::Float { kind } else { number })
    }

    /// Returns a pointer to an atomic variable.
    fn atomic_pointer(&mut self, pointer: ValueId, value: ValueId, class: Class) -> String {
        let is_signed = match class {
            Class::Signed => true,
            Class::Unsigned => false,
            _ => self.kind_of(value) == Kind::Signed,
        };
        let ty = match self.scalar_of(value) {
            ValueType::Float(_) => "atomic_float".to_owned(),
            ValueType::Integer(64, _) => "atomic_ulong".to_owned(),
            _ => if is_signed { "atomic_int" } else { "atomic_uint" }.to_owned(),
        };
        let space = match self.address_space(pointer) {
            Some(AddressSpace::Threadgroup) => "threadgroup",
            _ => "device",
        };
        // Variables that are declared as atomic need no cast.
        let base = self.function.input(pointer, 0);
        let is_member = matches!(self.function.op(pointer), Op::Member(0, _)) && !self.has_variable(pointer);
        if is_member {
            let declared = self.places.pointee[base];
            if self.naming.atomic_name(&self.program.types, declared).as_deref() == Some(ty.as_str()) {
                return self.pointer(base).text;
            }
        }
        let text = self.pointer(pointer).wrapped(p::UNARY);
        format!("({space} {ty}*){text}")
    }
}

/// Returns whether a function has forms with more and with less precision.
fn has_forms(stem: &str) -> bool {
    !matches!(stem, "sign" | "dot" | "fma" | "dfdx" | "dfdy" | "fwidth" | "ldexp" | "nextafter" | "copysign")
        && !stem.contains('.')
}
