"""Compiles CUDA C with NVRTC: `nvrtc.py LIBRARY FOLDER` prints a line for each file of the folder, `ok NAME` or what the
compiler said first."""
import ctypes
import pathlib
import sys

nvrtc = ctypes.CDLL(sys.argv[1])
for path in sorted(pathlib.Path(sys.argv[2]).glob("*.cu")):
    program = ctypes.c_void_p()
    name = path.name.encode()
    made = nvrtc.nvrtcCreateProgram(ctypes.byref(program), path.read_bytes(), name, 0, None, None)
    if made != 0:
        sys.exit(f"nvrtcCreateProgram: {made}")
    # Constant banks and variables are defined elsewhere.
    options = [b"--gpu-architecture=compute_35", b"-rdc=true", b"-G", b"-fmad=false", b"-w"]
    result = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    said = ""
    if result != 0:
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        lines = [line for line in log.value.decode(errors="replace").splitlines() if "error" in line]
        said = lines[0] if lines else f"error {result}"
    print(f"{path.stem}\t{said}", flush=True)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
