/// Presence of one device of a contact.
public struct ContactPresence: Codable, Sendable, Equatable {
  /// Null: the contact has shown itself without one.
  @Nullable public var resource: String?
  public var show: PresenceShow
  @Nullable public var status: String?
  public var priority: Int
  public init(resource: String?, show: PresenceShow, status: String?, priority: Int) {
    self.resource = resource
    self.show = show
    self.status = status
    self.priority = priority
  }
}

/// Somebody in the contact list, as `contacts list --json` prints it.
public struct Contact: Codable, Sendable, Equatable {
  public var jid: String
  @Nullable public var name: String?
  public var groups: [String]
  /// `none`, `to`, `from`, `both` (RFC 6121 §2.1.2.5).
  public var subscription: String
  /// `subscribe`: the contact was asked to show its presence, and has not answered.
  @Nullable public var ask: String?
  /// It sees the account's presence as soon as it asks.
  public var approved: Bool
  public var blocked: Bool
  /// Its devices that are online; none where that is not known.
  public var presence: [ContactPresence]
  /// What is kept may not be what the server has.
  public var stale: Bool
  public init(
    jid: String, name: String? = nil, groups: [String] = [], subscription: String = "none",
    ask: String? = nil, approved: Bool = false, blocked: Bool = false, presence: [ContactPresence] = [],
    stale: Bool = false
  ) {
    self.jid = jid
    self.name = name
    self.groups = groups
    self.subscription = subscription
    self.ask = ask
    self.approved = approved
    self.blocked = blocked
    self.presence = presence
    self.stale = stale
  }
}

/// The contact list, by JID, a part of it at a time.
public enum ContactsListMethod: AgentMethod {
  public static let name = "contacts.list"
  public static let isQuestion = true
  public static let isIdempotent = true

  /// Contacts of one answer.
  public static let maximumContacts = 500

  public struct Parameters: AccountParameters {
    public var account: String?
    /// The contacts behind this JID; absent: from the first one on.
    public var after: String?
    public init(account: String?, after: String? = nil) {
      self.account = account
      self.after = after
    }
  }

  public struct Result: Codable, Sendable, Equatable {
    public var contacts: [Contact]
    /// There are more behind the last one.
    public var more: Bool
    public var stale: Bool
    public init(contacts: [Contact], more: Bool, stale: Bool) {
      self.contacts = contacts
      self.more = more
      self.stale = stale
    }
  }
}

/// Who asks to see the account's presence and has no answer, oldest first.
public enum ContactRequestsMethod: AgentMethod {
  public static let name = "contacts.requests"
  public static let isQuestion = true
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    public var account: String?
    public init(account: String?) { self.account = account }
  }
  public struct Entry: Codable, Sendable, Equatable {
    public var jid: String
    /// RFC 3339: when it came first.
    public var received: String
    /// What came with it.
    @Nullable public var text: String?
    /// A contact whom it can be taken for (UTS #39).
    public var looksLike: String?
    public var stale: Bool
    public init(jid: String, received: String, text: String?, stale: Bool) {
      self.jid = jid
      self.received = received
      self.text = text
      self.stale = stale
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    public var requests: [Entry]
    public var stale: Bool
    public init(requests: [Entry], stale: Bool) {
      self.requests = requests
      self.stale = stale
    }
  }
}

/// Who is blocked, by JID.
public enum ContactsBlockedMethod: AgentMethod {
  public static let name = "contacts.blocked"
  public static let isQuestion = true
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    public var account: String?
    public init(account: String?) { self.account = account }
  }
  public struct Entry: Codable, Sendable, Equatable {
    public var jid: String
    public var stale: Bool
    public init(jid: String, stale: Bool) {
      self.jid = jid
      self.stale = stale
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    public var blocked: [Entry]
    public var stale: Bool
    public init(blocked: [Entry], stale: Bool) {
      self.blocked = blocked
      self.stale = stale
    }
  }
}

/// Changes something between the account and somebody else; answered when the server has done it. The session has to be
/// online.
public enum ContactsChangeMethod: AgentMethod {
  public static let name = "contacts.change"

  /// Octets of a name, a group's too: what every server takes.
  static let maximumName = 1023
  /// Groups of a contact.
  package static let maximumGroups = 64
  /// Octets of a text with a request.
  package static let maximumText = 1024

  public enum Change: String, Codable, Sendable, CaseIterable {
    /// Puts it into the list with `name` and `groups`, and asks for its presence unless `asks` is false.
    case add
    case remove
    /// Gives it `name`; absent: takes the name away.
    case rename
    /// Puts it into `groups`, or with `adds` or `removes` into these too, and out of those.
    case group
    /// Accepts its request, or where there is none yet one that may come.
    case approve
    /// Declines its request, or takes an approval back.
    case deny
    case block
    case unblock
    case unblockAll
  }

  public struct Parameters: AccountParameters, Equatable {
    public var account: String?
    public var change: Change
    /// Of whom; absent only with `unblockAll`.
    public var jid: String?
    public var name: String?
    public var groups: [String]?
    @Default<NoStrings> public var adds: [String]
    @Default<NoStrings> public var removes: [String]
    @Default<True> public var asks: Bool
    /// What goes with the request for its presence.
    public var text: String?
    /// Seconds for the answer of the server.
    @Default<Seconds<10>> public var timeout: Double
    public init(account: String?, _ change: Change, jid: String?) {
      self.account = account
      self.change = change
      self.jid = jid
    }

    public func validate() throws(RPCError) {
      try check(seconds: timeout)
      if (jid == nil) != (change == .unblockAll) { throw .invalidParameter("jid") }
      if let name, name.utf8.count > maximumName || !name.isOneLine { throw .invalidParameter("name") }
      for (name, groups) in [("groups", groups ?? []), ("adds", adds), ("removes", removes)] {
        let isWrong = groups.contains { $0.isEmpty || $0.utf8.count > maximumName || !$0.isOneLine }
        if isWrong || groups.count > maximumGroups { throw .invalidParameter(name) }
      }
      if let text, text.utf8.count > maximumText { throw .invalidParameter("text") }
    }
  }

  public struct Result: Codable, Sendable, Equatable {
    /// What has happened, as events tell it; null: all was like this already.
    @Nullable public var action: ContactEvent.Action?
    /// Normalised.
    @Nullable public var jid: String?
    public init(action: ContactEvent.Action?, jid: String?) {
      self.action = action
      self.jid = jid
    }
  }
}

extension String {
  /// Whether it has none of the controls that XML does not have, or that end a line.
  var isOneLine: Bool { !unicodeScalars.contains { $0.properties.generalCategory == .control } }
}
