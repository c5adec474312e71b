import AgentProtocol
import AgentStore
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza
import XMPPXML

// The commands about contacts: they list from the store and change at the server.

extension Contacts {
  // MARK: Listing

  package func list(after jid: String?) async throws(Failure) -> ContactsListMethod.Result {
    await loaded()
    let name = context.account.description
    let presences = currentPresences
    return try await context.localStore.read { try StoredContacts.list(name, after: jid, presences, $0) }
  }

  package func listRequests() async throws(Failure) -> ContactRequestsMethod.Result {
    await loaded()
    let name = context.account.description
    let isStale = !isUpToDate
    return try await context.localStore.read { try StoredContacts.requests(name, isStale: isStale, $0) }
  }

  package func listBlocked() async throws(Failure) -> ContactsBlockedMethod.Result {
    await loaded()
    let name = context.account.description
    let isStale = !isUpToDate
    return try await context.localStore.read { try StoredContacts.blocked(name, isStale: isStale, $0) }
  }

  // MARK: Changing

  /// Carries out a change; returns when the server has made it and the result is stored.
  package func change(
    _ parameters: ContactsChangeMethod.Parameters
  ) async throws(Failure) -> ContactsChangeMethod.Result {
    guard let stream else {
      throw Failure(.notLoggedIn, stage: .request, detail: .text(context.account.description))
    }
    await loaded()
    guard let text = parameters.jid else { return try await unblockAll(parameters, on: stream) }
    let jid = try JID(given: text)
    pending.begin(jid)
    defer { pending.end(jid) }
    let action: ContactEvent.Action?
    switch parameters.change {
    case .add: action = try await add(jid, parameters, on: stream)
    case .remove:
      try await ask(Roster.remove(jid), parameters, on: stream)
      try await wait(until: jid, within: parameters) { $0 == nil }
      action = .remove
    case .rename, .group: action = try await update(jid, parameters, on: stream)
    case .approve: action = try await approve(jid, parameters, on: stream)
    case .deny: action = try await deny(jid, parameters, on: stream)
    case .block: action = try await block(jid, parameters, on: stream)
    case .unblock: action = try await unblock(jid, parameters, on: stream)
    case .unblockAll: action = nil
    }
    return ContactsChangeMethod.Result(action: action, jid: jid.description)
  }

  private func add(
    _ jid: JID, _ parameters: ContactsChangeMethod.Parameters, on stream: BoundSession
  ) async throws(Failure) -> ContactEvent.Action? {
    if jid == context.account {
      throw Failure(.invalidParameter, stage: .input, detail: .session(.ownAccount, jid))
    }
    let known = try await contact(jid)
    let name = parameters.name ?? known?.name
    let groups = parameters.groups ?? known?.groups ?? []
    let isListed = known.map { $0.name == name && Set($0.groups) == Set(groups) } ?? false
    let asks = parameters.asks && known?.subscription.isTo != true
    if isListed, !asks { return nil }
    var companions: [XMLElement] = []
    if asks { companions.append(PresenceSubscription.request(jid, text: parameters.text).element) }
    try await ask(
      Roster.set(jid, name: name, groups: groups), followedBy: companions, parameters, on: stream)
    try await wait(until: jid, within: parameters) { item in
      guard let item else { return false }
      return item.name == name && Set(item.groups) == Set(groups)
        && (!asks || item.isAsked || item.subscription.isTo)
    }
    return known == nil ? .add : isListed ? .subscribe : .update
  }

  private func update(
    _ jid: JID, _ parameters: ContactsChangeMethod.Parameters, on stream: BoundSession
  ) async throws(Failure) -> ContactEvent.Action? {
    guard let known = try await contact(jid) else {
      throw Failure(.invalidParameter, stage: .input, detail: .session(.noContact, jid))
    }
    var name = known.name
    var groups = known.groups
    if parameters.change == .rename {
      name = parameters.name.flatMap { $0.isEmpty ? nil : $0 }
    } else {
      groups = parameters.groups ?? groups
      groups.removeAll(where: parameters.removes.contains)
      for group in parameters.adds where !groups.contains(group) { groups.append(group) }
    }
    if known.name == name, Set(known.groups) == Set(groups) { return nil }
    try await ask(Roster.set(jid, name: name, groups: groups), parameters, on: stream)
    try await wait(until: jid, within: parameters) { [name, groups] item in
      item.map { $0.name == name && Set($0.groups) == Set(groups) } ?? false
    }
    return .update
  }

  private func approve(
    _ jid: JID, _ parameters: ContactsChangeMethod.Parameters, on stream: BoundSession
  ) async throws(Failure) -> ContactEvent.Action? {
    let (isRequested, isSeen) = try await standing(of: jid)
    if !isRequested {
      if isSeen { return nil }
      guard await stream.features.map(PresenceSubscription.isPreApprovalOffered) == true else {
        throw Failure(
          .invalidParameter, stage: .request,
          detail: .session(.noApproval, jid))
      }
    }
    try await send(PresenceSubscription.approval(of: jid), parameters, on: stream)
    // Not every server marks a contact that was approved in advance as approved.
    try await wait(until: jid, within: parameters) { item in
      item.map { $0.subscription.isFrom || !isRequested } ?? false
    }
    let name = context.account.description
    await store(1) {
      try StoredRequests.remove(jid.bare.description, of: name, $0)
      let isTold = try isRequested || Roster.Item.load(jid, of: name, $0)?.isApproved == true
      return isTold ? [] : [ContactEvent(.approve, jid: jid.description, by: .own)]
    }
    return isRequested ? .accept : .approve
  }

  private func deny(
    _ jid: JID, _ parameters: ContactsChangeMethod.Parameters, on stream: BoundSession
  ) async throws(Failure) -> ContactEvent.Action? {
    let (isRequested, isSeen) = try await standing(of: jid)
    guard isRequested || isSeen else {
      throw Failure(.invalidParameter, stage: .input, detail: .session(.notAsked, jid))
    }
    try await send(PresenceSubscription.denial(of: jid), parameters, on: stream)
    if isSeen {
      try await wait(until: jid, within: parameters) { item in
        item.map { !$0.subscription.isFrom && !$0.isApproved } ?? true
      }
    }
    let bare = jid.bare.description
    if isRequested { session.start { await $0.contacts.publishDecline(of: jid, on: stream) } }
    await removeRequest(of: bare, ContactEvent(.decline, jid: bare, by: .own))
    return isRequested ? .decline : .unsubscribe
  }

  private func block(
    _ jid: JID, _ parameters: ContactsChangeMethod.Parameters, on stream: BoundSession
  ) async throws(Failure) -> ContactEvent.Action? {
    if jid.bare == context.account {
      throw Failure(.invalidParameter, stage: .input, detail: .session(.ownAccount, jid))
    }
    try await ask(BlockList.block([jid]), parameters, on: stream)
    await store(.block([jid]), count: 1, isOwn: true)
    return .ban
  }

  private func unblock(
    _ jid: JID, _ parameters: ContactsChangeMethod.Parameters, on stream: BoundSession
  ) async throws(Failure) -> ContactEvent.Action? {
    let name = context.account.description
    let blocked = try await context.localStore.read { try StoredBlockList.load(name, $0) }
    if isUpToDate, !blocked.contains(jid.description) { return nil }
    try await ask(BlockList.unblock([jid]), parameters, on: stream)
    await store(.unblock([jid]), count: 1, isOwn: true)
    return .allow
  }

  private func unblockAll(
    _ parameters: ContactsChangeMethod.Parameters, on stream: BoundSession
  ) async throws(Failure) -> ContactsChangeMethod.Result {
    pending.begin(nil)
    defer { pending.end(nil) }
    try await ask(BlockList.unblockAll(), parameters, on: stream)
    await store(.unblockAll, count: ContactEvent.maximumKept, isOwn: true)
    return ContactsChangeMethod.Result(action: .allow, jid: nil)
  }

  // MARK: Steps of the changes

  private func contact(_ jid: JID) async throws(Failure) -> Roster.Item? {
    let name = context.account.description
    return try await context.localStore.read { try Roster.Item.load(jid, of: name, $0) }
  }

  /// Whether somebody's request to see the account's presence is open, and whether it was granted, be it in advance.
  private func standing(of jid: JID) async throws(Failure) -> (isRequested: Bool, isSeen: Bool) {
    let name = context.account.description
    return try await context.localStore.read { database in
      let known = try Roster.Item.load(jid, of: name, database)
      return (
        try StoredRequests.contains(jid, of: name, database),
        known?.subscription.isFrom == true || known?.isApproved == true
      )
    }
  }

  /// Sends a request to the server and throws the server's refusal.
  private func ask(
    _ request: IQ, followedBy companions: [XMLElement] = [],
    _ parameters: ContactsChangeMethod.Parameters, on stream: BoundSession
  ) async throws(Failure) {
    let stanzas = [request.withID.element] + companions
    let answer: IQ
    do throws(XMPPError) {
      guard let first = try await stream.exchange(stanzas, timeout: .bounded(parameters.timeout)).first else {
        throw .silentServer
      }
      answer = try first.get()
    } catch {
      throw Failure(error)
    }
    if let error = answer.error { throw Failure(error) }
  }

  /// Sends a presence; returns when the server has it.
  private func send(
    _ presence: Presence, _ parameters: ContactsChangeMethod.Parameters, on stream: BoundSession
  ) async throws(Failure) {
    do throws(XMPPError) {
      try await stream.send([presence.element])
      try await stream.probe(timeout: .bounded(parameters.timeout))
    } catch {
      throw Failure(error)
    }
  }

  /// Returns when the server has reported the contact in the wanted state; `holds` gets nil for a contact that is not
  /// in the list.
  ///
  /// A server that agreed but sends no push is waited for only a few seconds, since it has done what was asked.
  private func wait(
    until jid: JID, within parameters: ContactsChangeMethod.Parameters,
    _ holds: @escaping (Roster.Item?) -> Bool
  ) async throws(Failure) {
    let wait = pending.add(jid, holds)
    defer { pending.remove(wait) }
    if holds(try await contact(jid)) { return }
    await wait.wait(seconds: parameters.timeout > 0 ? min(parameters.timeout, 5) : 5)
  }
}
