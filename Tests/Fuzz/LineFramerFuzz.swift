// modules: AgentProtocol

import AgentProtocol

/// Any bytes, as a local process may send them to the agent: cut into lines, each read as a call. How the bytes
/// arrive must not matter.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzLineFramer(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  let whole = lines(of: [bytes])
  precondition(lines(of: bytes.map { [$0] }) == whole, "lines depend on how the bytes arrive")
  for line in whole {
    guard let call = try? RPCCall(line: line) else { continue }
    _ = try? call.parameters(of: LoginMethod.self)
    _ = try? call.parameters(of: PresenceSetMethod.self)
    _ = try? call.parameters(of: WatchMethod.self)
  }
  return 0
}

private func lines(of pieces: [[UInt8]]) -> [String] {
  var framer = LineFramer(limit: 1024)
  var lines: [String] = []
  for piece in pieces {
    framer.append(piece)
    do {
      while let line = try framer.next() { lines.append(line) }
    } catch {
      return lines
    }
    precondition(framer.pending <= 1024, "an unfinished line is longer than the limit")
  }
  return lines
}
