import AgentProtocol
import AgentStore
import NIOCore
import XMPP
import XMPPFeatures
import XMPPStanza
import XMPPXML

/// Lists the devices of an account on a bound stream from the server's answers, the published records, and the devices'
/// own answers. The stream needs no presence.
package struct DeviceSurvey: Sendable {
  /// The maximum number of devices listed.
  package static let maximumDevices = 64
  /// The time limit for a device to answer.
  private static let patience = TimeAmount.seconds(3)

  package let stream: any RequestStream
  /// The full JID of the stream.
  package let own: JID
  package let timeout: TimeAmount

  package init(stream: any RequestStream, own: JID, timeout: TimeAmount) {
    self.stream = stream
    self.own = own
    self.timeout = timeout
  }

  /// The result of a survey.
  package struct View: Sendable {
    /// The devices, online ones first; the stream's own is included.
    var devices: [Device]
    /// Whether the server lists all sessions, so that no others are online.
    var isComplete: Bool

    /// The resources of the other devices that are online.
    var others: Set<String> {
      Set(devices.lazy.filter { $0.online && !$0.isSelf }.compactMap(\.resource))
    }
  }

  /// The devices, online ones first; the stream's own is included.
  ///
  /// - Parameter present: the resources whose presence is known.
  package func devices(present: Set<String> = []) async throws(Failure) -> [Device] {
    try await view(present: present).devices
  }

  /// The devices, and whether the list of online devices is complete.
  ///
  /// - Parameter present: the resources whose presence is known.
  package func view(present: Set<String> = []) async throws(Failure) -> View {
    async let published = try? DeviceRecord.node.items(on: stream, timeout: timeout)
    let told = try await ask()
    let records = (await published ?? []).compactMap { DeviceRecord($0) }
      .sorted { ($0.lastLogin ?? "") > ($1.lastLogin ?? "") }.prefix(Self.maximumDevices)
    var online = present.union(told.resources ?? [])
    if let resource = own.resource { online.insert(resource) }
    if told.resources == nil { await find(records.compactMap(\.resource), &online) }
    var devices: [Device] = []
    var claimed: Set<String> = []
    for record in records {
      var device = Device(record)
      // Of several records with a resource, the last one is of its current device.
      device.online = record.resource.map { claimed.insert($0).inserted && online.contains($0) } ?? false
      device.isSelf = device.online && device.resource == own.resource
      devices.append(device)
    }
    devices += online.subtracting(claimed).sorted().prefix(Self.maximumDevices).map { resource in
      Device(resource: resource, online: true, isSelf: resource == own.resource)
    }
    await introduce(&devices)
    for client in told.clients where !records.contains(where: { client.id.contains($0.id) }) {
      var device = Device(resource: nil, online: client.isConnected)
      (device.name, device.software, device.lastLogin) = (client.device, client.software, client.lastSeen)
      devices.append(device)
    }
    return View(
      devices: devices.filter(\.online) + devices.filter { !$0.online },
      isComplete: told.resources != nil)
  }

  /// Finds a device by its resource, or by the name, model or ID in the list of devices.
  ///
  /// - Returns: its resource, and whether it is online; `name` itself where there is no such device.
  /// - Throws: `invalidParameter` where several online devices have the name, and where the server does not tell the
  ///   resource of the matching device.
  package func target(
    _ name: String, present: Set<String> = []
  ) async throws(Failure) -> (resource: String, isOnline: Bool) {
    if try await isOnline(name, present: present) { return (name, true) }
    let named = try await devices(present: present).filter { !$0.isSelf && $0.isCalled(name) }
    let online = named.filter(\.online)
    let resources = online.compactMap(\.resource)
    if let resource = resources.first {
      if resources.count == 1 { return (resource, true) }
      throw Failure(
        .invalidParameter, stage: .input,
        detail: .session(.ambiguousDevice, name, resources.joined(separator: ", ")))
    }
    if !online.isEmpty {
      throw Failure(
        .invalidParameter, stage: .input,
        detail: .session(.hiddenResource, name))
    }
    return (named.lazy.compactMap(\.resource).first ?? name, false)
  }

  /// Whether a session has the resource: an error from the server means no; silence means that a device is there.
  package func isOnline(_ resource: String, present: Set<String> = []) async throws(Failure) -> Bool {
    if present.contains(resource) { return true }
    if let resources = try await ask().resources { return resources.contains(resource) }
    var online: Set<String> = []
    await find([resource], &online)
    return online.contains(resource)
  }

  private struct Told {
    /// The resources with a session; nil where the server does not tell.
    var resources: Set<String>?
    var clients: [ManagedClient] = []
  }

  /// Asks the server for the sessions and clients.
  private func ask() async throws(Failure) -> Told {
    let requests = [ServiceItem.request(own.bare)] + ManagedClient.namespaces.map(ManagedClient.request)
    var answers = try await exchange(requests, timeout)
    var told = Told()
    if case .success(let items)? = answers.first, let items = ServiceItem.items(of: items) {
      let resources = Set(items.lazy.filter { $0.jid.bare == own.bare }.compactMap(\.jid.resource))
      // A list without the requesting stream is not a list of sessions.
      if let resource = own.resource, resources.contains(resource) { told.resources = resources }
    }
    answers.removeFirst()
    for case .success(let answer) in answers where told.clients.isEmpty {
      told.clients = ManagedClient.clients(of: answer)
    }
    return told
  }

  /// Finds out which of these resources have sessions. A client that cannot be pinged sends the same error as the
  /// server for an absent one (XEP-0199 §4.2), but it answers other queries.
  private func find(_ resources: [String], _ online: inout Set<String>) async {
    let unknown = Set(resources).subtracting(online).sorted()
    let jids = unknown.compactMap { try? own.with(resource: $0) }
    guard jids.count == unknown.count, !jids.isEmpty,
      let answers = try? await exchange(
        jids.flatMap { [Ping.request($0), ServiceDiscovery.request($0)] }, Self.patience)
    else { return }
    for (place, resource) in unknown.enumerated() {
      let isAbsent = answers[2 * place...2 * place + 1].allSatisfy { answer in
        guard case .success(let answer) = answer, let error = answer.error else { return false }
        return [.serviceUnavailable, .recipientUnavailable, .itemNotFound].contains(error.condition)
      }
      if !isAbsent { online.insert(resource) }
    }
  }

  /// Queries devices without a published record (XEP-0092, XEP-0030).
  private func introduce(_ devices: inout [Device]) async {
    let strangers = devices.indices.filter { !devices[$0].isSelf && devices[$0].id == nil }
    let jids = strangers.compactMap { try? own.with(resource: devices[$0].resource ?? "") }
    guard jids.count == strangers.count, !jids.isEmpty else { return }
    let requests = jids.flatMap { [SoftwareVersion.request($0), ServiceDiscovery.request($0)] }
    guard let answers = try? await exchange(requests, Self.patience) else { return }
    for (place, index) in strangers.enumerated() {
      if case .success(let answer) = answers[2 * place], let version = SoftwareVersion(answer) {
        let parts = [version.name, version.version].compactMap(\.self)
        devices[index].software = parts.isEmpty ? nil : parts.joined(separator: " ")
        devices[index].name = version.name
      }
      if case .success(let answer) = answers[2 * place + 1], let discovery = ServiceDiscovery(answer),
        let name = discovery.identities.first(where: { $0.category == "client" })?.name
      {
        devices[index].name = devices[index].name ?? String(name.prefix(DeviceIdentity.maximumLength))
      }
    }
  }

  private func exchange(
    _ requests: [IQ], _ timeout: TimeAmount
  ) async throws(Failure) -> [Result<IQ, XMPPError>] {
    do throws(XMPPError) {
      return try await stream.exchange(requests.map { $0.withID.element }, timeout: timeout)
    } catch {
      throw Failure(error)
    }
  }
}

extension Device {
  /// Whether a list of devices shows the device under this name.
  package func isCalled(_ name: String) -> Bool { [self.name ?? model, id].contains(name) }

  package init(_ record: DeviceRecord) {
    self.init(resource: record.resource, online: false)
    id = record.id
    name = record.name
    model = record.model
    platform = record.platform
    software = record.software
    ext = record.ext
    lastLogin = record.lastLogin
  }

  /// This device as stored, not online.
  package init(stored account: Account) {
    self.init(LoginPlan.record(account.deviceId, account.device ?? DeviceIdentity()))
    id = account.deviceId
    resource = account.options.resource
    isSelf = true
  }
}

extension LoginPlan {
  /// The record that this device publishes.
  package static func record(_ id: String?, _ device: DeviceIdentity) -> DeviceRecord {
    var record = DeviceRecord(id: id ?? "")
    record.name = device.name
    record.model = hostName
    record.platform = device.platform
    record.software = "imctl " + Version.current
    record.ext = device.ext
    return record
  }

  /// The notice to a device whose session this one ends.
  var kickNotice: KickNotice {
    KickNotice(name: device.name ?? Self.hostName, platform: device.platform, ext: device.ext)
  }
}
