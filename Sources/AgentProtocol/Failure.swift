/// A failure as every surface shows it: `login --json`, `status`, JSON-RPC errors, exit statuses.
public struct Failure: Error, Sendable, Equatable {
  /// Which part of the work failed.
  public enum Stage: String, Codable, Sendable, CaseIterable {
    case input, store, dns, connect, proxy, tls, stream, authenticate, bind, sync, request
  }

  /// A name of the table, open for names of later agents.
  public struct Name: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  public var name: Name
  public var stage: Stage
  /// What happened, in the user's language.
  public var message: String
  /// What to do next, in the user's language.
  public var hint: String?
  /// The condition on the wire: `not-authorized`, `conflict`.
  public var condition: String?
  /// What the server said.
  public var text: String?

  public init(
    _ name: Name, stage: Stage, message: String, hint: String? = nil, condition: String? = nil, text: String? = nil
  ) {
    self.name = name
    self.stage = stage
    self.message = message
    self.hint = hint
    self.condition = condition
    self.text = text
  }
}
