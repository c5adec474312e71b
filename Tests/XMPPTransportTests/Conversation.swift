import NIOCore
import TestSupport
import XMPPTransport

/// How a flow of bytes is cut into pieces.
enum Cut: Sendable {
  case whole
  case bytes
  case random(seed: UInt64)

  func pieces(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
    var generator = SeededGenerator(seed: 1)
    if case .random(let seed) = self { generator = SeededGenerator(seed: seed) }
    var rest = bytes[...]
    var pieces: [ArraySlice<UInt8>] = []
    while !rest.isEmpty {
      let length =
        switch self {
        case .whole: rest.count
        case .bytes: 1
        case .random: Int.random(in: 1...700, using: &generator)
        }
      pieces.append(rest.prefix(length))
      rest = rest.dropFirst(length)
    }
    return pieces
  }
}

/// A `TLSEngine` and a server that talk over memory.
struct Conversation {
  let client: TLSEngine
  let server: MemoryTLSServer
  var cut = Cut.whole
  /// What the client read.
  var plaintext = ByteBuffer()
  var clientClosed = false
  /// The newest session the server gave.
  var session: TLSSession?

  init(
    _ configuration: TLSConfiguration, _ server: MemoryTLSServer, cut: Cut = .whole,
    resuming session: TLSSession? = nil
  ) throws {
    try self.init(TLSContext(configuration), server, cut: cut, resuming: session)
  }

  init(
    _ context: TLSContext, _ server: MemoryTLSServer, cut: Cut = .whole, resuming session: TLSSession? = nil
  ) throws {
    client = try TLSEngine(context, resuming: session)
    self.server = server
    self.cut = cut
  }

  /// Carries bytes both ways until neither has more to say.
  mutating func talk() throws {
    _ = try client.handshake()
    while true {
      send()
      let answer = server.take()
      if answer.isEmpty { return }
      for piece in cut.pieces(answer) {
        do {
          try piece.withUnsafeBytes { try client.receive($0) }
          if try client.handshake(), case .closed = try client.read(into: &plaintext) { clientClosed = true }
          session = client.popSession() ?? session
        } catch {
          send()
          throw error
        }
      }
    }
  }

  private func send() {
    var buffer = ByteBuffer()
    client.drainCiphertext(into: &buffer)
    for piece in cut.pieces(Array(buffer.readableBytesView)) { server.receive(Array(piece)) }
  }
}
