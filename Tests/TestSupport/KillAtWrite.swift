import FoundationEssentials

/// A library that kills the process that loads it right before a write to its local store.
public enum KillAtWrite {
  /// Compiles it into a directory; gives the variables that load it into every process.
  ///
  /// - Parameter order: path of the file whose number says before which write; it is deleted then.
  public static func environment(order: String, in directory: String) async throws -> [String: String?] {
    let library = directory + "/kill_at_write.so"
    let compiler = try await ChildProcess(
      "/usr/bin/gcc", ["-shared", "-fPIC", "-O", "-o", library, Script.path("kill_at_write.c")])
    guard try await compiler.ended(within: .seconds(60)) == .exited(0) else {
      throw TestSupportError("gcc: \(compiler.errors.text)")
    }
    return ["LD_PRELOAD": library, "KILL_AT_WRITE": order]
  }
}
