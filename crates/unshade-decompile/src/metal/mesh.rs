//! Meshes: the structures of vertices and primitives, and statements that set one.
//!
//! AIR sets a vertex member by member, `air.set_position_mesh(mesh, number, position)` and so on; Metal sets it whole. So calls
//! for the same vertex that follow each other become one statement.

use super::function::Printer;
use super::spelling::Kind;
use crate::hlsl::names::identifier;
use crate::ir::metal::interface::Attributed;
use crate::ir::{Op, ValueId};

/// Functions that set a member of a vertex or primitive: the stem, the attribute of the member, the inputs that are the number
/// of the vertex and the value. User data have a number among members of their kind instead of an attribute.
const MEMBERS: [(&str, &str, usize, usize); 6] = [
    ("set_position_mesh", "position", 1, 2),
    ("set_point_size_mesh", "point_size", 1, 2),
    ("set_vertex_data_mesh", "", 2, 3),
    ("set_primitive_data_mesh", "", 2, 3),
    ("set_render_target_array_index_mesh", "render_target_array_index", 1, 2),
    ("set_viewport_array_index_mesh", "viewport_array_index", 1, 2),
];

/// A call that sets a member.
struct Member {
    /// `set_vertex` or `set_primitive`.
    function: &'static str,
    attribute: &'static str,
    /// The number among user data.
    data: Option<u64>,
    mesh: ValueId,
    number: ValueId,
    value: ValueId,
}

impl Printer<'_> {
    /// Returns the declarations of what a mesh function writes.
    pub(super) fn mesh_structures(&self) -> Vec<String> {
        let Some(mesh) = &self.info.mesh else { return Vec::new() };
        let mut lines = Vec::new();
        for (index, members) in [&mesh.vertex, &mesh.primitive].into_iter().enumerate() {
            let Some(name) = self.mesh_structure(index).filter(|_| !members.is_empty()) else { continue };
            lines.push(format!("struct {name}"));
            lines.push("{".into());
            lines.extend(members.iter().map(|member| {
                let attribute = match member.attribute.as_str() {
                    "" => String::new(),
                    attribute => format!(" [[{attribute}]]"),
                };
                format!("    {} {}{attribute};", member.type_name, identifier(&member.name))
            }));
            lines.push("};".into());
            lines.push(String::new());
        }
        lines
    }

    /// Returns the name of the structure of vertices (0) or of primitives (1).
    fn mesh_structure(&self, index: usize) -> Option<String> {
        let mut parameters = self.info.parameters.iter();
        let mesh = parameters.find_map(|parameter| parameter.type_name.strip_prefix("mesh<"))?;
        let name = mesh.split(", ").nth(index)?;
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then(|| name.to_owned())
    }

    /// Prints the statement that sets a vertex or primitive, if the first statements set its members. Returns their number.
    pub(super) fn mesh_members(&mut self, statements: &[ValueId]) -> usize {
        let Some(first) = statements.first().and_then(|id| self.mesh_member(*id)) else { return 0 };
        let same = |a: ValueId, b: ValueId| {
            let number = self.function.number(a);
            a == b || number.is_some() && number == self.function.number(b)
        };
        let members: Vec<Member> = statements
            .iter()
            .map_while(|id| self.mesh_member(*id))
            .take_while(|member| {
                member.function == first.function
                    && same(member.mesh, first.mesh)
                    && same(member.number, first.number)
            })
            .collect();
        let index = usize::from(first.function == "set_primitive");
        let Some(mesh) = self.info.mesh.as_ref() else { return 0 };
        let declared = [&mesh.vertex, &mesh.primitive][index];
        let Some(name) = self.mesh_structure(index) else { return 0 };
        let places: Option<Vec<usize>> = members.iter().map(|member| place(declared, member)).collect();
        let Some(places) = places else { return 0 };
        statements[..members.len()].iter().for_each(|id| self.comes_from(*id));
        let mut texts = vec!["{}".to_owned(); declared.len()];
        for (member, place) in members.iter().zip(places) {
            let kind = match self.kind_of(member.value) {
                Kind::Signed | Kind::Unsigned if declared[place].type_name.starts_with('u') => Kind::Unsigned,
                Kind::Signed | Kind::Unsigned => Kind::Signed,
                kind => kind,
            };
            texts[place] = self.exact(member.value, kind);
        }
        let mesh = self.pointer(first.mesh).text;
        let number = self.value(first.number, Kind::Unsigned, 0);
        self.line(&format!("{mesh}.{}({number}, {name}{{{}}});", first.function, texts.join(", ")));
        members.len()
    }

    fn mesh_member(&self, id: ValueId) -> Option<Member> {
        let function = self.function;
        let Op::Metal(op) = function.op(id) else { return None };
        let row = op.row();
        let (_, attribute, number, value) = MEMBERS.into_iter().find(|member| member.0 == row.stem)?;
        let data = match attribute {
            "" => Some(function.number(function.input(id, 1))?),
            _ => None,
        };
        let [mesh, number, value] = [0, number, value].map(|index| function.input(id, index));
        Some(Member { function: row.name, attribute, data, mesh, number, value })
    }
}

/// Returns the index of the member that a call sets.
fn place(declared: &[Attributed], member: &Member) -> Option<usize> {
    let is_data = |attributed: &Attributed| {
        !MEMBERS.iter().any(|row| row.1 == attributed.attribute && !row.1.is_empty())
    };
    match member.data {
        Some(number) => {
            let mut data = (0..declared.len()).filter(|index| is_data(&declared[*index]));
            data.nth(usize::try_from(number).ok()?)
        }
        None => declared.iter().position(|attributed| attributed.attribute == member.attribute),
    }
}
