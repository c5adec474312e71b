/// The notification `notice`: information from a one-time agent to its client that is not the answer to a request.
/// Usually, a single field is present.
public struct AgentNotice: Codable, Sendable, Equatable {
  /// A question of the account's server.
  public struct Question: Codable, Sendable, Equatable {
    public var name: String
    /// The question in the server's words.
    public var label: String?
    public var isSecret: Bool
    /// The values to choose from; empty: any value.
    public var options: [String]
    /// URIs of media that show the question, such as an image with letters to type.
    public var media: [String]

    public init(name: String, label: String?, isSecret: Bool, options: [String], media: [String]) {
      self.name = name
      self.label = label
      self.isSecret = isSecret
      self.options = options
      self.media = media
    }
  }

  /// A sentence, in the language of the agent's environment, that says which unsafe state of the stored accounts was
  /// repaired.
  public var repair: String?
  /// The progress of the database upgrade, in percent.
  public var upgrade: Int?
  /// The server's instructions for a person who registers an account.
  public var instructions: String?
  /// A question, for whose answer (``QuestionAnswerMethod``) the request waits.
  public var question: Question?

  public init() {}

  public init(repair: String) { self.repair = repair }

  public init(upgrade: Int) { self.upgrade = upgrade }

  public init(instructions: String) { self.instructions = instructions }

  public init(question: Question) { self.question = question }
}

/// Answers the question of an ``AgentNotice``.
public enum QuestionAnswerMethod: AgentMethod {
  public static let name = "question.answer"
  public struct Parameters: MethodParameters {
    /// Absent: no person can be asked.
    public var answer: String?
    public init(answer: String?) { self.answer = answer }
  }
  public typealias Result = EmptyObject
}
