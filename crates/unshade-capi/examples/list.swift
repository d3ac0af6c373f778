// Lists the GPU programs in a file, and their functions.
//
//   cargo build --release -p unshade-capi
//   swiftc crates/unshade-capi/examples/list.swift -I crates/unshade-capi/include -L target/release -o list

import Unshade

/// What is wrong, and where.
struct UnshadeFault: Error, CustomStringConvertible {
    let description: String

    /// Takes an error over and frees it.
    init(_ error: OpaquePointer?) {
        description = "\(text(unshade_error_path(error))): \(text(unshade_error_message(error)))"
        unshade_error_free(error)
    }
}

/// Returns a string that the library keeps.
func text(_ string: UnsafePointer<CChar>?) -> String {
    string.map { String(cString: $0) } ?? ""
}

/// Returns a string that the caller has to free, and frees it.
func take(_ string: UnsafeMutablePointer<CChar>?) -> String {
    defer { unshade_string_free(string) }
    return text(UnsafePointer(string))
}

func list(_ path: String) throws {
    var error: OpaquePointer?
    guard let file = unshade_open(path, &error) else { throw UnshadeFault(error) }
    defer { unshade_close(file) }
    for i in 0..<unshade_program_count(file) {
        let program = unshade_program(file, i)
        print("\(text(unshade_program_path(program))), \(text(unshade_program_format(program)))")
        for j in 0..<unshade_function_count(program) {
            let function = unshade_function(program, j)
            print("  \(text(unshade_function_kind(function))) \(text(unshade_function_name(function)))")
            print(take(unshade_function_signature(function)))
        }
    }
}

guard CommandLine.arguments.count == 2 else { fatalError("usage: list FILE") }
try list(CommandLine.arguments[1])
