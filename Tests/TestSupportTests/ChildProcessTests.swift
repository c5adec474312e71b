import TestSupport
import Testing

@Suite("Child processes")
struct ChildProcessTests {
  @Test("A child process provides its output, its errors and its exit status.")
  func output() async throws {
    let child = try await ChildProcess("/bin/sh", ["-c", "read a; echo got $a; echo oops >&2; exit 3"])
    child.write("it\n")
    #expect(try await child.ended() == .exited(3))
    #expect(child.output.lines == ["got it"])
    #expect(child.errors.text == "oops\n")
  }

  @Test("A child process that ends without the expected output is an error.")
  func missing() async throws {
    let child = try await ChildProcess("/bin/echo", ["something else"])
    await #expect(throws: TestSupportError.self) { try await child.output.contains("wanted") }
  }

  @Test("A child process whose program does not exist is an error.")
  func absent() async throws {
    await #expect(throws: (any Error).self) { try await ChildProcess("/nonexistent/program", []) }
  }

  @Test("A background child process is ended together with its home directory.")
  func home() async throws {
    let imctl = try await IMCTL()
    let child = try await ChildProcess(
      "/bin/sh", ["-c", "setsid sh -c 'echo started; sleep 1000; :' & read line"],
      environment: ["HOME": imctl.home])
    try await child.output.contains("started")
    #expect(try await imctl.processes().contains { $0 != child.id })
    child.closeInput()
    try await imctl.end()
    // Its output ends with the last of them.
    #expect(try await child.ended(within: .seconds(90)) != nil)
  }
}
