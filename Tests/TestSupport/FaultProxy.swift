/// A link on loopback to a port that breaks when a test says so, and how it says.
///
/// It ends with this process.
public final class FaultProxy: Sendable {
  /// How a link breaks.
  public enum Fault: String, Sendable, CaseIterable, Codable {
    /// Both ends see a reset.
    case cut
    /// Both ends see an orderly end.
    case close
    /// The server sees the end of what the client sends, or the client of what the server sends; the other way goes on.
    case halfUp, halfDown
    /// What is sent is taken and kept until ``FaultProxy/resume()``: from the client, from the server, both.
    case stallUp, stallDown, stall
    /// Everything arrives a quarter of a second late.
    case delay
    /// As `cut`, and every later connection is reset too until ``FaultProxy/open()``.
    case away

    /// Nobody is told that the link is of no use.
    public var isSilent: Bool { [.stallUp, .stallDown, .stall].contains(self) }
  }

  private struct Order: Encodable {
    var order: String
    var number = Int.random(in: 1...Int(Int32.max))
    var fault: Fault?
    var flight: Int?
    var up: Int?
    var down: Int?
    var next: Bool?
  }
  private struct Report: Decodable, Sendable {
    var connection: Int?
    var fired: Fault?
    var flight: Int?
    var done: Int?
  }

  /// Where it listens, on `TestServer.host`.
  public let port: Int
  private let script: Script

  public init(to target: Int) async throws {
    struct Options: Encodable { var port: Int }
    struct Ready: Decodable { var port: Int }
    script = try await Script("fault.py", options: Options(port: target))
    port = try await script.first(Ready.self).port
  }

  /// Breaks the newest connection now.
  public func fault(_ fault: Fault) async throws { try await send(Order(order: "fault", fault: fault)) }

  /// Breaks the next connection when its flight of this number is about to be passed on. A flight is what one end
  /// sends until the other one answers; the first is the client's.
  public func fault(_ fault: Fault, atFlight flight: Int) async throws {
    try await send(Order(order: "fault", fault: fault, flight: flight, next: true))
  }

  /// Breaks the newest connection when the client has sent so many more bytes, the last of them not passed on.
  public func fault(_ fault: Fault, afterSending bytes: Int) async throws {
    try await send(Order(order: "fault", fault: fault, up: bytes))
  }

  /// Breaks the newest connection when the server has sent so many more bytes, the last of them not passed on.
  public func fault(_ fault: Fault, afterReceiving bytes: Int) async throws {
    try await send(Order(order: "fault", fault: fault, down: bytes))
  }

  /// What was held back goes on, and what was to happen does not; connections before the newest one are cut.
  public func resume() async throws { try await send(Order(order: "resume")) }

  /// Connections made so far.
  public var connections: Int {
    get async throws {
      try await send(Order(order: "look"))
      return script.all(Report.self).count { $0.connection != nil && $0.fired == nil }
    }
  }

  /// Later connections are passed on again.
  public func open() async throws { try await send(Order(order: "open")) }

  /// Faults that have happened at the flight they were for.
  public var brokenFlights: Int {
    get async throws {
      try await send(Order(order: "look"))
      return script.all(Report.self).count { $0.flight != nil }
    }
  }

  /// Faults that have happened so far.
  public var fired: Int {
    get async throws {
      try await send(Order(order: "look"))
      return reportedFaults
    }
  }

  private var reportedFaults: Int { script.all(Report.self).count { $0.fired != nil } }

  /// Waits until more than `seen` faults have happened.
  public func fires(after seen: Int, within limit: Duration = .seconds(90)) async throws {
    try await script.process.output.first("a fault", within: limit) { _ in
      self.reportedFaults > seen ? () : nil
    }
  }

  /// Ends the link, and the connections over it.
  public func end() async throws { try await script.process.stop() }

  private func send(_ order: Order) async throws {
    try script.send(order)
    let script = script
    let number = order.number
    try await script.process.output.first("an answer to \(order.order)") { _ in
      script.all(Report.self).contains { $0.done == number } ? () : nil
    }
  }
}
