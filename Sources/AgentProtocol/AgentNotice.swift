/// What a one-time agent tells its client beside the answer to a request: the notification `notice`. A field that is
/// absent says nothing.
public struct AgentNotice: Codable, Sendable, Equatable {
  /// Something that the server of the account wants to know.
  public struct Question: Codable, Sendable, Equatable {
    public var name: String
    /// The server's words.
    public var label: String?
    public var isSecret: Bool
    /// The values to choose from; empty: any.
    public var options: [String]
    /// What has to be looked at for the answer.
    public var media: [String]

    public init(name: String, label: String?, isSecret: Bool, options: [String], media: [String]) {
      self.name = name
      self.label = label
      self.isSecret = isSecret
      self.options = options
      self.media = media
    }
  }

  /// Something unsafe about the stored accounts was put right: a sentence in the language of the agent's environment.
  public var repair: String?
  /// How far the upgrade of the database is, in percent.
  public var upgrade: Int?
  /// What the server tells the person who makes an account.
  public var instructions: String?
  /// To be answered with ``QuestionAnswerMethod``: the request waits for that.
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
    /// Absent: there is nobody to ask.
    public var answer: String?
    public init(answer: String?) { self.answer = answer }
  }
  public typealias Result = Nothing
}
