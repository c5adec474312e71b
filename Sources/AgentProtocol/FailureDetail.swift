/// The detail of a failure: a sentence as its key and arguments, or a text.
///
/// The process that shows the failure formats the sentence in its own language.
public indirect enum FailureDetail: Sendable, Equatable {
  /// A fact, such as an address or a path, or a text of a server or the operating system. It is shown unchanged.
  case text(String)
  /// A sentence of this package; the arguments are in the order of its numbered placeholders.
  case sentence(Key, [FailureDetail])
  /// An earlier failure, shown with its stage.
  case failure(Failure)

  /// The text in one language.
  public func text(_ language: Language) -> String {
    switch self {
    case .text(let text): text
    case .sentence(let key, let arguments): key.sentence.text(language, arguments.map { $0.text(language) })
    case .failure(let failure): failure.localized(language).message
    }
  }

  /// Whether the detail differs between languages.
  var isTranslated: Bool { if case .text = self { false } else { true } }

  /// Whether the detail, or one of its arguments, is a sentence with one of the keys.
  public func mentions(_ keys: Set<Key>) -> Bool {
    guard case .sentence(let key, let arguments) = self else { return false }
    return keys.contains(key) || arguments.contains { $0.mentions(keys) }
  }

  /// Returns the detail with each text shortened to `length` characters.
  func bounded(to length: Int) -> FailureDetail {
    switch self {
    case .text(let text): .text(String(String.UnicodeScalarView(text.unicodeScalars.prefix(length))))
    case .sentence(let key, let arguments): .sentence(key, arguments.map { $0.bounded(to: length) })
    case .failure: self
    }
  }
}

/// The English text.
extension FailureDetail: CustomStringConvertible {
  public var description: String { text(.english) }
}

extension FailureDetail {
  /// The key of a sentence.
  public enum Key: Hashable, Sendable {
    case form(Form)
    case login(Login)
    case store(Store)
    case agent(Agent)
    case session(Session)
    case usage(Usage)
    case connection(Connection)
    case stream(Stream)
    case authentication(Authentication)
    case request(Request)
    case address(Address)

    /// All keys.
    static let all: [Key] =
      Form.allCases.map(Key.form) + Login.allCases.map(Key.login) + Store.allCases.map(Key.store)
      + Agent.allCases.map(Key.agent) + Session.allCases.map(Key.session) + Usage.allCases.map(Key.usage)
      + Connection.allCases.map(Key.connection) + Stream.allCases.map(Key.stream)
      + Authentication.allCases.map(Key.authentication) + Request.allCases.map(Key.request)
      + Address.allCases.map(Key.address)

    private static let named = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// Returns nil for the name of a key of another version.
    public init?(name: String) {
      guard let key = Self.named[name] else { return nil }
      self = key
    }

    /// The name on the wire: `store.locked`.
    public var name: String {
      switch self {
      case .form(let key): "form.\(key.rawValue)"
      case .login(let key): "login.\(key.rawValue)"
      case .store(let key): "store.\(key.rawValue)"
      case .agent(let key): "agent.\(key.rawValue)"
      case .session(let key): "session.\(key.rawValue)"
      case .usage(let key): "usage.\(key.rawValue)"
      case .connection(let key): "connection.\(key.rawValue)"
      case .stream(let key): "stream.\(key.rawValue)"
      case .authentication(let key): "authentication.\(key.rawValue)"
      case .request(let key): "request.\(key.rawValue)"
      case .address(let key): "address.\(key.rawValue)"
      }
    }

    public var sentence: Sentence {
      switch self {
      case .form(let key): key.sentence
      case .login(let key): key.sentence
      case .store(let key): key.sentence
      case .agent(let key): key.sentence
      case .session(let key): key.sentence
      case .usage(let key): key.sentence
      case .connection(let key): key.sentence
      case .stream(let key): key.sentence
      case .authentication(let key): key.sentence
      case .request(let key): key.sentence
      case .address(let key): key.sentence
      }
    }
  }
}

// The sentences of each topic. An argument is a detail, or a value that is shown by its description.
extension FailureDetail {
  public typealias Argument = any Sendable & CustomStringConvertible

  public static func form(_ key: Form, _ arguments: Argument...) -> FailureDetail {
    sentence(.form(key), of: arguments)
  }

  public static func login(_ key: Login, _ arguments: Argument...) -> FailureDetail {
    sentence(.login(key), of: arguments)
  }

  public static func store(_ key: Store, _ arguments: Argument...) -> FailureDetail {
    sentence(.store(key), of: arguments)
  }

  public static func agent(_ key: Agent, _ arguments: Argument...) -> FailureDetail {
    sentence(.agent(key), of: arguments)
  }

  public static func session(_ key: Session, _ arguments: Argument...) -> FailureDetail {
    sentence(.session(key), of: arguments)
  }

  public static func usage(_ key: Usage, _ arguments: Argument...) -> FailureDetail {
    sentence(.usage(key), of: arguments)
  }

  public static func connection(_ key: Connection, _ arguments: Argument...) -> FailureDetail {
    sentence(.connection(key), of: arguments)
  }

  public static func stream(_ key: Stream, _ arguments: Argument...) -> FailureDetail {
    sentence(.stream(key), of: arguments)
  }

  public static func authentication(_ key: Authentication, _ arguments: Argument...) -> FailureDetail {
    sentence(.authentication(key), of: arguments)
  }

  public static func request(_ key: Request, _ arguments: Argument...) -> FailureDetail {
    sentence(.request(key), of: arguments)
  }

  public static func address(_ key: Address, _ arguments: Argument...) -> FailureDetail {
    sentence(.address(key), of: arguments)
  }

  /// A statement about a subject such as a path, a command or a JID.
  public static func about(_ subject: Argument, _ what: Argument) -> FailureDetail {
    .form(.about, subject, what)
  }

  /// A number of seconds, rounded to a tenth.
  public static func seconds(_ seconds: Double) -> FailureDetail {
    let rounded = "\((seconds * 10).rounded() / 10)"
    return .form(.seconds, rounded.hasSuffix(".0") ? String(rounded.dropLast(2)) : rounded)
  }

  private static func sentence(_ key: Key, of arguments: [Argument]) -> FailureDetail {
    assert(key.sentence.places(.english) == Set(1..<arguments.count + 1), "\(key) has other arguments")
    return .sentence(key, arguments.map { $0 as? FailureDetail ?? .text($0.description) })
  }
}

/// JSON: a text is a string; a sentence is an object with `key` and `arguments`; an earlier failure is its error
/// object.
extension FailureDetail: Codable {
  private enum Field: String, CodingKey {
    case key, arguments
  }

  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .text(let text):
      var value = encoder.singleValueContainer()
      try value.encode(text)
    case .sentence(let key, let arguments):
      var fields = encoder.container(keyedBy: Field.self)
      try fields.encode(key.name, forKey: .key)
      if !arguments.isEmpty { try fields.encode(arguments, forKey: .arguments) }
    case .failure(let failure):
      try failure.encode(to: encoder)
    }
  }

  /// Throws for a key of another version.
  public init(from decoder: any Decoder) throws {
    if let text = try? decoder.singleValueContainer().decode(String.self) {
      self = .text(text)
      return
    }
    let fields = try decoder.container(keyedBy: Field.self)
    guard fields.contains(.key) else {
      self = .failure(try Failure(from: decoder))
      return
    }
    guard let key = Key(name: try fields.decode(String.self, forKey: .key)) else {
      throw DecodingError.dataCorruptedError(forKey: .key, in: fields, debugDescription: "not known")
    }
    self = .sentence(key, try fields.decodeIfPresent([FailureDetail].self, forKey: .arguments) ?? [])
  }
}
