import AgentProtocol

/// The arguments of `imctl-agent serve`, which `imctl agent run` has validated.
struct ServeArguments {
  /// Whether the agent continues to run when it is not needed.
  var isKept = false
  /// The effect of `agent idle`.
  var onIdle = IdleMode.csi
  /// Whether a command started the agent and waits for its report.
  var isLaunched = false
  /// The time limit in seconds; 0: none.
  var timeout = 0.0
  /// The version of the `imctl` that started the agent.
  private var client: String?

  init(_ words: some Sequence<String>) throws(Failure) {
    var words = words.makeIterator()
    while let word = words.next() {
      switch word {
      case "--keep": isKept = true
      case "--launched": isLaunched = true
      case "--json": break
      case "--on-idle": onIdle = try Self.value(IdleMode.init(rawValue:), of: word, words.next())
      case "--timeout": timeout = try Self.value(Double.init, of: word, words.next())
      case "--client": client = try Self.value({ $0 }, of: word, words.next())
      default: throw Self.refusal(.agent(.unknownOption, word))
      }
    }
  }

  /// Throws if the `imctl` that started the agent has another version.
  func checkVersion() throws(Failure) {
    if let client, client != Version.current { throw .versions(command: client, agent: Version.current) }
  }

  private static func value<Value>(
    _ read: (String) -> Value?, of option: String, _ word: String?
  ) throws(Failure) -> Value {
    guard let word, let value = read(word) else { throw refusal(.agent(.wrongOption, option)) }
    return value
  }

  private static func refusal(_ detail: FailureDetail) -> Failure {
    Failure(.invalidParameter, stage: .input, detail: detail)
  }
}
