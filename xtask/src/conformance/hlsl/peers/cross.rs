//! Writes HLSL of SPIR-V with SPIRV-Cross: `cross JOBS FIRST`, see `jobs.rs`.
//!
//! The name of the output ends with the number of the shader model, such as `.50`.

mod jobs;

use spirv_cross2::compile::hlsl::{CompilerOptions, HlslShaderModel as Model};
use spirv_cross2::targets::Hlsl;
use spirv_cross2::{Compiler, Module};

const MODELS: [(&str, Model); 13] = [
    ("40", Model::ShaderModel4_0),
    ("41", Model::ShaderModel4_1),
    ("50", Model::ShaderModel5_0),
    ("51", Model::ShaderModel5_1),
    ("60", Model::ShaderModel6_0),
    ("61", Model::ShaderModel6_1),
    ("62", Model::ShaderModel6_2),
    ("63", Model::ShaderModel6_3),
    ("64", Model::ShaderModel6_4),
    ("65", Model::ShaderModel6_5),
    ("66", Model::ShaderModel6_6),
    ("67", Model::ShaderModel6_7),
    ("", Model::ShaderModel6_8),
];

fn main() {
    jobs::run(|input, output| text(input, output.rsplit('.').next().unwrap_or_default()));
}

fn text(bytes: &[u8], model: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let words: Vec<u32> =
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
    let compiler = Compiler::<Hlsl>::new(Module::from_words(&words))?;
    let mut options = CompilerOptions::default();
    options.shader_model =
        MODELS.into_iter().find(|row| row.0 == model).map_or(Model::ShaderModel6_8, |row| row.1);
    Ok(compiler.compile(&options)?.to_string().into_bytes())
}
