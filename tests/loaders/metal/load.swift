// Hands the libraries of `cargo xtask loader-files metal -o DIR` to Metal:
//
//     swift tests/loaders/metal/load.swift DIR
//
// Each line of DIR/manifest.tsv has the name of a file, its kind, `taken` or `refused`, and the names of its functions with
// commas between them. Prints a line per file that Metal judges otherwise; exit status 1 if there is one, 2 if Metal has
// no device here.

import Foundation
import Metal

guard CommandLine.arguments.count == 2 else {
    print("usage: load.swift DIR")
    exit(2)
}
guard let device = MTLCopyAllDevices().first ?? MTLCreateSystemDefaultDevice() else {
    print("Metal has no device on this machine")
    exit(2)
}
let folder = URL(fileURLWithPath: CommandLine.arguments[1])
let manifest = try String(contentsOf: folder.appendingPathComponent("manifest.tsv"), encoding: .utf8)

var wrong = 0
var count = 0
for line in manifest.split(separator: "\n") {
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    guard fields.count == 4 else {
        print("the manifest has the line \(line)")
        exit(2)
    }
    let bytes = try Data(contentsOf: folder.appendingPathComponent(fields[0]))
    let data = bytes.withUnsafeBytes { DispatchData(bytes: $0) }
    var found = "refused"
    var reason = ""
    do {
        let library = try device.makeLibrary(data: data as __DispatchData)
        found = "taken\t" + library.functionNames.sorted().joined(separator: ",")
    } catch {
        reason = " (\(error.localizedDescription))"
    }
    let expected = fields[2] == "taken" ? "taken\t" + fields[3] : "refused"
    if found != expected {
        print("\(fields[0]): expected \(expected), Metal says \(found)\(reason)")
        wrong += 1
    }
    count += 1
}
print("\(device.name): \(count) libraries, \(wrong) judged otherwise than expected")
exit(wrong == 0 && count > 0 ? 0 : 1)
