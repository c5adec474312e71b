/// The presence of one device of a contact.
public struct ContactPresence: Codable, Sendable, Equatable {
  /// Null if the presence came from the bare JID.
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

/// An item of the contact list, as `contacts list --json` prints it.
public struct Contact: Codable, Sendable, Equatable {
  public var jid: String
  @Nullable public var name: String?
  public var groups: [String]
  /// `none`, `to`, `from`, `both` (RFC 6121 §2.1.2.5).
  public var subscription: String
  /// `subscribe`: the contact has not yet answered the request to see its presence.
  @Nullable public var ask: String?
  /// Whether the contact will see the account's presence as soon as it asks (RFC 6121 §3.4).
  public var approved: Bool
  public var blocked: Bool
  /// The contact's online devices; empty if they are unknown.
  public var presence: [ContactPresence]
  /// Whether the stored contact may differ from the server's.
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

/// The contact list in pages, ordered by JID.
public enum ContactsListMethod: AgentMethod {
  public static let name = "contacts.list"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true

  /// The maximum number of contacts in an answer.
  public static let maximumContacts = 500

  public struct Parameters: AccountParameters {
    public var account: String?
    /// The JID after which the page begins; absent: the first page.
    public var after: String?
    public init(account: String?, after: String? = nil) {
      self.account = account
      self.after = after
    }
  }

  public struct Result: Codable, Sendable, Equatable {
    public var contacts: [Contact]
    /// Whether there are more contacts after the last one.
    public var more: Bool
    public var stale: Bool
    public init(contacts: [Contact], more: Bool, stale: Bool) {
      self.contacts = contacts
      self.more = more
      self.stale = stale
    }
  }
}

/// The unanswered requests to see the account's presence, oldest first.
public enum ContactRequestsMethod: AgentMethod {
  public static let name = "contacts.requests"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    public var account: String?
    public init(account: String?) { self.account = account }
  }
  public struct Entry: Codable, Sendable, Equatable {
    public var jid: String
    /// RFC 3339: when the first request arrived.
    public var received: String
    /// The text of the request.
    @Nullable public var text: String?
    /// The contact with which the JID can be confused (UTS #39).
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

/// The blocked addresses, ordered by JID.
public enum ContactsBlockedMethod: AgentMethod {
  public static let name = "contacts.blocked"
  public static let mayBeAbandoned = true
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

/// Changes the relationship between the account and another JID. The session must be online; the answer comes when the
/// server has made the change.
public enum ContactsChangeMethod: AgentMethod {
  public static let name = "contacts.change"

  /// The maximum length of a contact's or group's name in octets, which every server accepts.
  static let maximumName = 1023
  /// The maximum number of a contact's groups.
  package static let maximumGroups = 64
  /// The maximum length of a request's text in octets.
  package static let maximumText = 1024

  public enum Change: String, Codable, Sendable, CaseIterable {
    /// Adds the JID to the contact list with `name` and `groups`, and asks to see its presence unless `asks` is false.
    case add
    case remove
    /// Sets the contact's name; without `name`, removes it.
    case rename
    /// Sets the contact's groups to `groups`, or adds it to those in `adds` and removes it from those in `removes`.
    case group
    /// Accepts the contact's request, or approves a future one in advance.
    case approve
    /// Declines the contact's request, or withdraws an approval.
    case deny
    case block
    case unblock
    case unblockAll
  }

  public struct Parameters: AccountParameters, Equatable {
    public var account: String?
    public var change: Change
    /// The JID in question; absent only with `unblockAll`.
    public var jid: String?
    public var name: String?
    public var groups: [String]?
    @Default<NoStrings> public var adds: [String]
    @Default<NoStrings> public var removes: [String]
    @Default<True> public var asks: Bool
    /// The text of the request to see the JID's presence.
    public var text: String?
    /// The time limit of the server's answer in seconds.
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
    /// The change, as in events; null if nothing had to be changed.
    @Nullable public var action: ContactEvent.Action?
    /// The normalised JID.
    @Nullable public var jid: String?
    public init(action: ContactEvent.Action?, jid: String?) {
      self.action = action
      self.jid = jid
    }
  }
}

extension String {
  /// Whether the string has no control characters, which are not allowed in XML or end a line.
  var isOneLine: Bool { !unicodeScalars.contains { $0.properties.generalCategory == .control } }
}
