/// A failure as every surface shows it: `login --json`, `status`, JSON-RPC errors, exit statuses.
///
/// It carries facts. The sentences are made of them by ``localized(_:)`` in the process that shows them, because
/// the agent's locale may be another one than the command's.
public struct Failure: Error, Sendable, Equatable {
  /// Which part of the work failed.
  public enum Stage: String, Codable, Sendable, CaseIterable {
    case input, store, dns, connect, proxy, tls, stream, authenticate, bind, sync, request
  }

  /// A name of ``FailureTable``, open for names of later agents.
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
  /// What is to be known beside the name: an address, a path, the word that is wrong. Never a secret.
  public let detail: FailureDetail?
  /// The condition on the wire, `not-authorized` or `conflict`: nil where none came from there.
  public let condition: String?
  /// What the server said: nil where it said nothing. At most ``maximumText`` characters of it are kept.
  public let text: String?
  /// What an agent of another version says about a name that is not in our table.
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

  /// A bound in words, as precise as anybody wants to know it.
  public static func seconds(_ seconds: Double) -> String { FailureDetail.seconds(seconds).text(.english) }

  private static func bounded(_ text: String?) -> String? {
    guard let text, !text.isEmpty else { return nil }
    return String(String.UnicodeScalarView(text.unicodeScalars.prefix(maximumText)))
  }

  /// What happened, in the language of this process.
  public var message: String { localized(.current).message }
  /// What to do next, in the language of this process.
  public var hint: String { localized(.current).hint }
  /// The first of ``codes``; 0 where there is none.
  public var code: Int { codes.first ?? 0 }
  /// The numbers that other IM toolkits use for this failure.
  public var codes: [Int] { FailureTable[name]?.codes(at: stage) ?? [] }
  /// Exit status of a command that ends with this failure.
  public var exit: Int32 { FailureTable[name]?.exit(at: stage) ?? 70 }
  /// Trying again may help without anything being changed.
  public var retryable: Bool { FailureTable[name]?.retry.isRetry ?? false }

  /// The sentences for the user: which stage failed, why, what the server said; and what to do next.
  ///
  /// May contain text of the server: neutralise control characters before showing it on a terminal.
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
  /// What was said answers a stanza: whoever that went to may have said it, or a server on the way.
  private var isAnswer: Bool { name == .stanzaError }
}

extension Failure.Stage {
  /// The stage in the user's words.
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
  /// Whether an encoder writes `sentence`: for what another process or a later one shows, and not for `--json`.
  public static let keepsSentences = CodingUserInfoKey(rawValue: "keepsSentences").unsafelyUnwrapped
}

/// The error object: `name code codes exit stage message hint detail condition text retryable`. `detail` is in English, and
/// may be absent; `condition` and `text` are null where the server said nothing.
///
/// Where the encoder keeps sentences (``CodingUserInfoKey/keepsSentences``), `sentence` has the detail with its key and its
/// arguments. Without it, or with a key of another version, the detail is a text.
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
    if encoder.userInfo[.keepsSentences] as? Bool == true, let detail, detail.isTranslated {
      try fields.encode(detail, forKey: .sentence)
    }
    try fields.encode(condition, forKey: .condition)
    try fields.encode(text, forKey: .text)
    try fields.encode(retryable, forKey: .retryable)
  }

  /// Takes the facts. Message and hint are kept only for a name that is not in ``FailureTable``; a stage that is
  /// not known counts as `request`.
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
