/// A failure as every interface shows it: `login --json`, `status`, JSON-RPC errors, exit statuses.
///
/// It contains facts. The process that shows it turns them into sentences (``localized(_:)``), because the locales of
/// the agent and the command may differ.
public struct Failure: Error, Sendable, Equatable {
  /// The stage of the work that failed.
  public enum Stage: String, Codable, Sendable, CaseIterable {
    case input, store, dns, connect, proxy, tls, stream, authenticate, bind, sync, request
  }

  /// A name in ``FailureTable``, or an unknown name from a later agent.
  public struct Name: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// What happened, and what to do next.
  public struct Text: Sendable, Equatable {
    public var message: String
    public var hint: String
    public init(_ message: String, hint: String) {
      self.message = message
      self.hint = hint
    }
  }

  public let name: Name
  public let stage: Stage
  /// Details such as an address, a path or an invalid word. Never a secret.
  public let detail: FailureDetail?
  /// The condition on the wire, such as `not-authorized`; nil if there was none.
  public let condition: String?
  /// The text from the server, shortened to ``maximumText`` characters; nil if there was none.
  public let text: String?
  /// The text from an agent of another version for a name that is not in this version's table.
  private let foreign: Text?

  public static let maximumText = 1000

  public init(
    _ name: Name, stage: Stage, detail: FailureDetail? = nil, condition: String? = nil, text: String? = nil
  ) {
    self.init(name, stage: stage, detail: detail, condition: condition, text: text, foreign: nil)
  }

  private init(
    _ name: Name, stage: Stage, detail: FailureDetail?, condition: String?, text: String?, foreign: Text?
  ) {
    self.name = name
    self.stage = stage
    self.detail = detail == .text("") ? nil : detail?.bounded(to: Self.maximumText)
    self.condition = Self.bounded(condition)
    self.text = Self.bounded(text)
    self.foreign = foreign
  }

  /// A number of seconds in words, rounded to a tenth.
  public static func seconds(_ seconds: Double) -> String { FailureDetail.seconds(seconds).text(.english) }

  private static func bounded(_ text: String?) -> String? {
    guard let text, !text.isEmpty else { return nil }
    return String(String.UnicodeScalarView(text.unicodeScalars.prefix(maximumText)))
  }

  /// What happened, in the language of this process.
  public var message: String { localized(.current).message }
  /// What to do next, in the language of this process.
  public var hint: String { localized(.current).hint }
  /// The first of ``codes``; 0 if there is none.
  public var code: Int { codes.first ?? 0 }
  /// The numbers that other IM toolkits use for this failure.
  public var codes: [Int] { FailureTable[name]?.codes(at: stage) ?? [] }
  /// The exit status of a command that ends with this failure.
  public var exit: Int32 { FailureTable[name]?.exit(at: stage) ?? 70 }
  /// Whether trying again without a change may help.
  public var retryable: Bool { FailureTable[name]?.retry.isRetry ?? false }

  /// The sentences for the user: the stage that failed, the cause, the text from the server; and what to do next.
  ///
  /// They may contain text from the server: neutralise control characters before showing them on a terminal.
  public func localized(_ language: Language) -> Text {
    guard let row = FailureTable[name] else {
      return foreign ?? Text(name.rawValue, hint: FailureTable.internalErrorHint(language))
    }
    let advice = FailureAdvice.of(self)
    let said = [condition, self.text].compactMap { $0 }.joined(separator: ": ")
    var message = advice?.message?.text(language) ?? row.text(language).message
    switch language {
    case .english:
      if stage != .input { message = stage.title(language) + ": " + message }
      if let detail { message += " (\(detail.text(language)))" }
      if !said.isEmpty { message += isAnswer ? "; the answer: \(said)" : "; the server said: \(said)" }
    case .chinese:
      if stage != .input { message = stage.title(language) + "：" + message }
      if let detail { message += "（\(detail.text(language))）" }
      if !said.isEmpty { message += isAnswer ? "；应答：\(said)" : "；服务器说：\(said)" }
    }
    return Text(message, hint: advice?.hint.text(language) ?? row.text(language).hint)
  }
}

extension Failure {
  /// Whether the failure answers a stanza. Its text may come from the stanza's recipient, or from a server on the way.
  private var isAnswer: Bool { name == .stanzaError }
}

extension Failure.Stage {
  /// The name of the stage for users.
  public func title(_ language: Language) -> String {
    let titles: (english: String, chinese: String) =
      switch self {
      case .input: ("input", "输入")
      case .store: ("local store", "本地存储")
      case .dns: ("DNS lookup", "域名解析")
      case .connect: ("connection", "连接")
      case .proxy: ("proxy", "代理")
      case .tls: ("TLS", "TLS")
      case .stream: ("XML stream", "XML 流")
      case .authenticate: ("authentication", "认证")
      case .bind: ("resource binding", "资源绑定")
      case .sync: ("synchronisation", "同步")
      case .request: ("request", "请求")
      }
    return language == .chinese ? titles.chinese : titles.english
  }
}

extension CodingUserInfoKey {
  /// Whether an encoder writes `sentence`. True for another or a later process; false for `--json`.
  public static let encodesSentences = CodingUserInfoKey(rawValue: "encodesSentences").unsafelyUnwrapped
}

/// The error object: `name code codes exit stage message hint detail condition text retryable`. `detail` is in English,
/// and may be absent; `condition` and `text` are null if the server gave none.
///
/// If the encoder keeps sentences (``CodingUserInfoKey/encodesSentences``), `sentence` has the detail as key and
/// arguments. Without `sentence`, or with a key of another version, the detail is a plain text.
extension Failure: Codable {
  private enum Key: String, CodingKey {
    case name, code, codes, exit, stage, message, hint, detail, sentence, condition, text, retryable
  }

  public func encode(to encoder: any Encoder) throws {
    let rendered = localized(.current)
    var fields = encoder.container(keyedBy: Key.self)
    try fields.encode(name.rawValue, forKey: .name)
    try fields.encode(code, forKey: .code)
    try fields.encode(codes, forKey: .codes)
    try fields.encode(exit, forKey: .exit)
    try fields.encode(stage, forKey: .stage)
    try fields.encode(rendered.message, forKey: .message)
    try fields.encode(rendered.hint, forKey: .hint)
    try fields.encodeIfPresent(detail.flatMap { Self.bounded($0.text(.english)) }, forKey: .detail)
    if encoder.userInfo[.encodesSentences] as? Bool == true, let detail, detail.isTranslated {
      try fields.encode(detail, forKey: .sentence)
    }
    try fields.encode(condition, forKey: .condition)
    try fields.encode(text, forKey: .text)
    try fields.encode(retryable, forKey: .retryable)
  }

  /// Decodes the facts. Message and hint are kept only for a name that is not in ``FailureTable``. An unknown stage
  /// becomes `request`.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Key.self)
    let name = Name(rawValue: try fields.decode(String.self, forKey: .name))
    var foreign: Text?
    if FailureTable[name] == nil, let message = try fields.decodeIfPresent(String.self, forKey: .message) {
      foreign = Text(message, hint: try fields.decodeIfPresent(String.self, forKey: .hint) ?? "")
    }
    self.init(
      name,
      stage: try fields.decodeIfPresent(String.self, forKey: .stage).flatMap(Stage.init) ?? .request,
      detail: try (try? fields.decode(FailureDetail.self, forKey: .sentence))
        ?? fields.decodeIfPresent(String.self, forKey: .detail).map(FailureDetail.text),
      condition: try fields.decodeIfPresent(String.self, forKey: .condition),
      text: try fields.decodeIfPresent(String.self, forKey: .text),
      foreign: foreign)
  }
}
