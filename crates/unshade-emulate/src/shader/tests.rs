//! Small programs, built by hand.

use super::{Inputs, Limits, Outputs, Reason, Register, run};
use unshade_ir::shader::ShaderOp;
use unshade_ir::shader::data_type::{DataType, Scalar, ScalarKind};
use unshade_ir::shader::interface::{
    Binding, Element, Resource, ResourceClass, ShaderFunction, ShaderProgram, Shape, Stage, Variable,
    VariableSpace,
};
use unshade_ir::shader::operation::barrier;
use unshade_ir::{BlockId, End, Function, Op, Space, ValueId};

fn element(semantic: &str, scalar: Scalar, columns: u8) -> Element {
    Element {
        semantic: semantic.into(),
        indices: vec![0],
        columns,
        scalar,
        interpolation: "",
        stream: 0,
        register: Some(0),
        column: 0,
        used: 15,
    }
}

fn program(stage: Stage, inputs: Vec<Element>, outputs: Vec<Element>) -> ShaderProgram {
    let mut program = ShaderProgram::new(stage, (6, 0));
    program.functions.push(ShaderFunction { inputs, outputs, ..ShaderFunction::default() });
    program
}

/// A function that is being written.
struct Writer<'f> {
    function: &'f mut Function,
    block: BlockId,
}

impl Writer<'_> {
    fn number(&mut self, number: u64) -> ValueId {
        self.function.constant(number, 32)
    }

    fn add(&mut self, op: Op, width: u8, inputs: &[ValueId]) -> ValueId {
        let address = self.function.values.len() as u32;
        self.function.add(op, width, self.block, address, inputs)
    }

    fn shader(&mut self, op: ShaderOp, inputs: &[ValueId]) -> ValueId {
        self.add(Op::Shader(op), 32, inputs)
    }

    /// Loads the first component of an input.
    fn input(&mut self, element: u64) -> ValueId {
        let (element, zero) = (self.number(element), self.number(0));
        self.shader(ShaderOp::LoadInput, &[element, zero, zero])
    }

    fn output(&mut self, column: u64, value: ValueId) {
        let (zero, column) = (self.number(0), self.number(column));
        self.add(Op::Shader(ShaderOp::StoreOutput), 0, &[zero, zero, column, value]);
    }

    fn end(&mut self, end: End) {
        let block = self.block;
        end.each_successor(&mut |to| self.function.blocks[to].predecessors.push(block));
        self.function.blocks[block].end = end;
    }
}

fn write(program: &mut ShaderProgram, blocks: usize) -> Writer<'_> {
    let function = &mut program.functions[0].function;
    for address in 0..blocks {
        function.block(address as u32);
    }
    Writer { function, block: BlockId::ENTRY }
}

/// Returns a component of the first output of each lane.
fn column(outputs: &Outputs, column: u8) -> Vec<Option<u64>> {
    let key = ("O".to_owned(), 0, column);
    outputs
        .lanes
        .iter()
        .map(|lane| lane.as_ref().and_then(|lane| lane.get(&key)).map(|number| number.bits))
        .collect()
}

/// for (i = 0, sum = 0; i < lane; i++) sum += i; out.x = sum;
fn sum_up_to_lane() -> ShaderProgram {
    let mut program = program(
        Stage::Vertex,
        vec![element("SV_VertexID", Scalar::UINT, 1)],
        vec![element("O", Scalar::UINT, 2)],
    );
    let mut writer = write(&mut program, 4);
    let blocks = [0, 1, 2, 3].map(BlockId::new);
    let (lane, zero, one) = (writer.input(0), writer.number(0), writer.number(1));
    writer.end(End::Goto(blocks[1]));
    writer.block = blocks[1];
    let [index, sum] = [0, 1].map(|_| writer.function.raw(Op::Phi, 32, blocks[1], 0, &[]));
    writer.function.blocks[blocks[1]].phis.extend([index, sum]);
    let condition = writer.add(Op::Less, 1, &[index, lane]);
    writer.end(End::Branch { condition, yes: blocks[2], no: blocks[3] });
    writer.block = blocks[2];
    let next_sum = writer.add(Op::Add, 32, &[sum, index]);
    let next = writer.add(Op::Add, 32, &[index, one]);
    writer.end(End::Goto(blocks[1]));
    writer.function.set_inputs(index, &[zero, next]);
    writer.function.set_inputs(sum, &[zero, next_sum]);
    writer.block = blocks[3];
    writer.output(0, sum);
    // All lanes meet after the loop.
    let count = writer.shader(
        ShaderOp::WaveReduce(unshade_ir::shader::WaveOp::Sum, unshade_ir::shader::NumberKind::Unsigned),
        &[one],
    );
    writer.output(1, count);
    writer.end(End::Return);
    program
}

#[test]
fn lanes_leave_loops_and_meet_again() {
    let program = sum_up_to_lane();
    let inputs = Inputs::generated(&program, 0);
    let outputs = run(&program, &inputs, Limits::default()).unwrap();
    assert_eq!(column(&outputs, 0), [0, 0, 1, 3, 6, 10, 15, 21].map(Some));
    assert_eq!(column(&outputs, 1), [Some(8); 8]);
}

#[test]
fn loops_that_do_not_end_reach_the_limit() {
    let mut program = program(Stage::Vertex, Vec::new(), Vec::new());
    let mut writer = write(&mut program, 1);
    writer.end(End::Goto(BlockId::ENTRY));
    let inputs = Inputs::generated(&program, 0);
    let limits = Limits { steps: 100, ..Limits::default() };
    assert_eq!(run(&program, &inputs, limits).unwrap_err().reason, Reason::Steps);
}

#[test]
fn faults_name_the_instruction_and_the_lane() {
    let mut program = program(Stage::Vertex, Vec::new(), Vec::new());
    let mut writer = write(&mut program, 1);
    let note = writer.function.notes.push("fcall fp0".into());
    let address = writer.function.values.len() as u32;
    writer.add(Op::Unlifted(note), 32, &[]);
    writer.end(End::Return);
    let fault = run(&program, &Inputs::generated(&program, 0), Limits::default()).unwrap_err();
    assert_eq!((fault.address, fault.lane), (Some(address), Some(0)));
    assert!(fault.to_string().starts_with("an instruction was not lifted: fcall fp0"), "{fault}");
}

/// shared[thread] = thread; barrier; u0[thread] = shared[63 - thread];
#[test]
fn groups_meet_at_barriers() {
    let mut program = program(Stage::Compute, Vec::new(), Vec::new());
    program.functions[0].attributes.threads = Some([64, 1, 1]);
    let ty = DataType::Array(Box::new(DataType::Scalar(Scalar::UINT)), 64);
    program.variables.push(Variable {
        name: String::new(),
        space: VariableSpace::Group,
        ty,
        values: Vec::new(),
    });
    program.resources.push(Resource {
        binding: Some(Binding { register: 2, space: 0, count: Some(1) }),
        ..Resource::new(ResourceClass::UnorderedAccess, Shape::ByteAddressBuffer)
    });
    let mut writer = write(&mut program, 1);
    let zero = writer.number(0);
    let thread = writer.shader(ShaderOp::GroupIndex, &[]);
    let shared = writer.shader(ShaderOp::Variable, &[zero]);
    let own = writer.shader(ShaderOp::Element, &[shared, thread]);
    writer.add(Op::Store(Space::Shared), 0, &[own, thread]);
    let mode = writer.number(barrier::GROUP_SYNC | barrier::GROUP_MEMORY);
    writer.add(Op::Shader(ShaderOp::Barrier), 0, &[mode]);
    let last = writer.number(63);
    let opposite = writer.add(Op::Sub, 32, &[last, thread]);
    let other = writer.shader(ShaderOp::Element, &[shared, opposite]);
    let value = writer.add(Op::Load(Space::Shared), 32, &[other]);
    let handle = writer.shader(ShaderOp::Handle, &[zero, zero]);
    let two = writer.number(2);
    let offset = writer.add(Op::Shl, 32, &[thread, two]);
    writer.add(Op::Shader(ShaderOp::StoreRaw), 0, &[handle, offset, value]);
    // Outside of the buffer, nothing happens.
    let outside = writer.number(1 << 20);
    writer.add(Op::Shader(ShaderOp::StoreRaw), 0, &[handle, outside, value]);
    writer.end(End::Return);
    let mut inputs = Inputs::generated(&program, 0);
    let register = Register { class: ResourceClass::UnorderedAccess, number: 2, space: 0 };
    inputs.set_bytes(register, vec![0; 256]);
    let outputs = run(&program, &inputs, Limits::default()).unwrap();
    let expected: Vec<u8> = (0..64_u32).flat_map(|thread| (63 - thread).to_le_bytes()).collect();
    assert_eq!(outputs.buffers[&register], expected);
}

#[test]
fn discarded_pixels_help_their_quad() {
    let float = Scalar::FLOAT;
    let mut program =
        program(Stage::Pixel, vec![element("SV_Position", float, 4)], vec![element("O", float, 1)]);
    let mut writer = write(&mut program, 1);
    let x = writer.input(0);
    let one = writer.number(u64::from(1_f32.to_bits()));
    let condition = writer.add(Op::FloatLess, 1, &[x, one]);
    writer.add(Op::Shader(ShaderOp::Discard), 0, &[condition]);
    let slope = writer.shader(ShaderOp::DerivativeXFine, &[x]);
    writer.output(0, slope);
    writer.end(End::Return);
    let mut inputs = Inputs::generated(&program, 0);
    inputs.count = 4;
    let outputs = run(&program, &inputs, Limits::default()).unwrap();
    let one = Some(u64::from(1_f32.to_bits()));
    assert_eq!(column(&outputs, 0), [None, one, None, one]);
}

#[test]
fn programs_with_the_same_interface_read_the_same() {
    let program = sum_up_to_lane();
    let mut other = program.clone();
    // Another output: the second column is the vertex, too.
    let mut writer = Writer { function: &mut other.functions[0].function, block: BlockId::new(3) };
    let lane = writer.input(0);
    writer.output(1, lane);
    let inputs = Inputs::generated(&program, 2);
    let [a, b] = [&program, &other].map(|program| run(program, &inputs, Limits::default()).unwrap());
    assert!(a.compare(&a).is_equal());
    let found = a.compare(&b);
    assert_eq!((found.is_near(), found.different), (false, 8));
    assert_eq!(found.differences[0], "lane 0 (\"O\", 0, 1): 8 became 0");
}

#[test]
fn floats_that_hardly_differ_are_near() {
    let mut program =
        program(Stage::Vertex, Vec::new(), vec![element("O", Scalar::new(ScalarKind::Float, 32), 1)]);
    let mut writer = write(&mut program, 1);
    let value = writer.number(u64::from(1.5_f32.to_bits()));
    writer.output(0, value);
    writer.end(End::Return);
    let inputs = Inputs::generated(&program, 0);
    let outputs = run(&program, &inputs, Limits::default()).unwrap();
    let mut other = outputs.clone();
    for number in other.lanes.iter_mut().flatten().flat_map(|lane| lane.values_mut()) {
        number.bits += 3;
    }
    let found = outputs.compare(&other);
    assert_eq!((found.is_near(), found.is_equal(), found.largest_distance), (true, false, 3));
}
