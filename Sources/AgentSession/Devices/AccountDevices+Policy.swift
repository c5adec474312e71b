import AgentLogin
import AgentProtocol
import FoundationEssentials
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

// The policy of the account says which of its devices may be online together. It is published beside the device
// records, so that every device obeys it, and stored here for logins that cannot ask for it.

extension AccountDevices {
  /// The seconds before each retry of a policy that could not be carried out.
  private static let pauses = [2.0, 10, 60]
  /// The seconds for which a login waits for the account's policy.
  private static let patience: Int64 = 10

  /// Why the current policy of the account does not allow this login; nil where it does.
  ///
  /// The server is asked only where the answer can matter, since the login waits for it: a device without a platform
  /// has no limit. Where the server does not answer, the stored policy applies.
  func policyRefusal(on stream: BoundSession) async -> Failure? {
    guard stream.isCurrent, isLogin, let plan, plan.device.platform != nil else { return nil }
    if !plan.hasUnpublishedPolicy,
      let items = try? await DeviceRecord.node.items(
        [DevicePolicyRecord.id], on: stream, timeout: .seconds(Self.patience)),
      stream.isCurrent, let policy = Self.policy(in: items)
    {
      await adopt(policy)
    }
    do throws(Failure) { try (self.plan ?? plan).checkDevicePolicy() } catch { return error }
    return nil
  }

  /// Adopts the policy that the devices have published, or publishes this device's policy where that is newer or none
  /// is published.
  func agreeOnPolicy(_ items: [PubSub.Item], on stream: BoundSession) async {
    guard stream.isCurrent, !hasSetPolicy,
      let stored = try? await context.accounts.entry(context.account)
    else { return }
    if stored.hasUnpublishedPolicy != true, let policy = Self.policy(in: items) { return await adopt(policy) }
    guard let policy = stored.devicePolicy ?? (stored.hasUnpublishedPolicy == true ? DevicePolicy() : nil)
    else { return }
    do throws(Failure) { try await publish(policy, on: stream) } catch {
      context.report("the device policy could not be published", error)
    }
  }

  private static func policy(in items: [PubSub.Item]) -> DevicePolicy? {
    items.lazy.compactMap { DevicePolicyRecord($0) }.first.flatMap { DevicePolicy($0) }
  }

  /// Makes this policy the account's, and stores it.
  private func adopt(_ policy: DevicePolicy) async {
    guard let plan, plan.devicePolicy != policy else { return }
    session.ask { $0.adopt(policy) }
    await store(policy, isPublished: true)
  }

  private func store(_ policy: DevicePolicy, isPublished: Bool) async {
    do throws(Failure) {
      try await context.accounts.change(context.account) { $0.setPolicy(policy, isPublished: isPublished) }
    } catch {
      context.report("store", error)
    }
  }

  private func publish(_ policy: DevicePolicy, on stream: BoundSession) async throws(Failure) {
    do throws(XMPPError) {
      try await DeviceRecord.node.publish(policy.record.item, on: stream, of: features.last)
    } catch {
      throw Failure.refused(error)
    }
    await store(policy, isPublished: true)
  }

  /// Returns the account's policy after applying the requested change. A change that cannot be published now is stored
  /// and published at the next login.
  package func policy(_ parameters: DevicesPolicyMethod.Parameters) async throws(Failure)
    -> DevicesPolicyMethod.Result
  {
    let stored = try await context.accounts.entry(context.account)
    var policy = stored?.devicePolicy ?? DevicePolicy()
    let stream = stream
    if let stream, stored?.hasUnpublishedPolicy != true,
      let items = try? await DeviceRecord.node.items(
        [DevicePolicyRecord.id], on: stream, timeout: .seconds(10))
    {
      // Another device may have changed the policy meanwhile: its values stay where this change names none.
      policy = Self.policy(in: items) ?? policy
    }
    guard parameters.isChange else {
      return .init(policy, published: stored?.hasUnpublishedPolicy != true)
    }
    policy = policy.changed(by: parameters)
    let changed = policy
    // The policy applies from the next login on.
    if let stream, stream.isCurrent { setPolicy() }
    try await context.accounts.change(context.account) { $0.setPolicy(changed, isPublished: false) }
    guard let stream, stream.isCurrent else { return .init(policy, published: false) }
    await session.discover(stream)
    do throws(Failure) { try await publish(policy, on: stream) } catch {
      context.report("the device policy could not be published", error)
      return .init(policy, published: false, cause: error)
    }
    return .init(policy, published: true)
  }

  // MARK: Enforcement

  /// Ends the sessions that the policy does not allow beside this one, and retries on failure. A session that only
  /// reconnected ends no other session.
  func makeRoom(on stream: BoundSession) async {
    var pauses = Self.pauses[...]
    while stream.isCurrent, isLogin, plan?.devicePolicy.endsOthers == true {
      guard let failure = await endOthers(on: stream) else { return }
      guard stream.isCurrent else { return }
      context.log.error(
        "the device policy could not be carried out",
        metadata: [
          "account": "\(context.account)", "failure": "\(failure.message)", "tries left": "\(pauses.count)",
        ])
      if pauses.count == Self.pauses.count {
        await publish([DeviceEvent(.stay, jid: failure.jid ?? context.account.description, by: .own)])
      }
      guard let pause = pauses.popFirst(), (try? await context.clock.sleep(pause)) != nil else { return }
    }
  }

  /// The reason why the policy could not be carried out.
  private struct Shortcoming {
    var message: String
    /// The JID of the device that stays; nil where it is not known.
    var jid: String?
  }

  private func endOthers(on stream: BoundSession) async -> Shortcoming? {
    guard let plan, let survey = survey(within: 20) else { return nil }
    do throws(Failure) {
      let all = try await survey.devices(present: known.present)
      let victims = plan.devicePolicy.victims(of: plan.device.platform, among: all)
      guard !victims.isEmpty, stream.isCurrent else { return nil }
      let atServer = try await self.atServer(within: 20)
      let outcomes = try await kick(DevicesAtServer.Targets(online: victims), by: atServer)
      guard let refused = outcomes.first(where: { $0.state == .refused }) else { return nil }
      return Shortcoming(
        message: refused.error?.message ?? "refused", jid: refused.resource.map { "\(context.account)/\($0)" }
      )
    } catch {
      return Shortcoming(message: error.message)
    }
  }
}

extension DevicePolicy {
  /// Returns nil for a rule that this version does not know.
  init?(_ record: DevicePolicyRecord) {
    guard let rule = Rule(rawValue: record.rule) else { return nil }
    self.init(rule, limits: record.limits, check: record.check.flatMap(Check.init))
  }

  /// The record that is published to the other devices.
  var record: DevicePolicyRecord {
    DevicePolicyRecord(rule: rule.rawValue, check: check?.rawValue, limits: limits)
  }
}
