import AgentProtocol

/// The arguments of `imctl-agent serve`, which `imctl agent run` has checked.
struct ServeArguments {
  /// It stays though nobody needs it.
  var isKept = false
  /// What `agent idle` does.
  var onIdle = IdleMode.csi
  /// A command waits for it, and is told what goes wrong.
  var isLaunched = false
  /// Seconds, 0 for no bound.
  var timeout = 0.0
  /// Version of the `imctl` that has started it.
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

  /// Throws where another version of `imctl` has started this agent.
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
