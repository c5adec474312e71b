import AgentLogin
import AgentProtocol
import AgentStore
import FoundationEssentials
import XMPP
import XMPPClient
import XMPPFeatures

/// Whether a device is the one that logged in last, by what the devices of the account have published: pure.
struct LastLogin: Sendable, Equatable {
  /// The installation.
  var id: String?
  /// RFC 3339: when it logged in, as it has stored itself; nil: it has stored nothing of a login.
  var time: String?

  /// False where another installation has logged in since, or one of the same name, which has a copy of what is stored
  /// here. A record without a time that can be read tells nothing.
  func isLast(among records: [DeviceRecord]) -> Bool {
    let published = records.first { $0.id == id }.flatMap { Self.date($0.lastLogin) }
    let own = Self.date(time) ?? published
    if let own, let published, published > own { return false }
    let others = records.filter { $0.id != id }.compactMap { Self.date($0.lastLogin) }
    guard let last = others.max() else { return true }
    // One of the same moment has a copy of what is stored here, and another name.
    return own.map { last < $0 } ?? false
  }

  private static func date(_ time: String?) -> Date? { time.flatMap(Timestamp.date) }
}

extension Session {
  /// Whether no other device has logged in since this one did. Where nothing can be learnt of that nobody is refused.
  func wasLastLogin(_ id: String?, since time: String?, on stream: BoundSession) async -> Bool {
    guard let items = try? await DeviceRecord.node.items(on: stream, timeout: .seconds(10)) else {
      return true
    }
    return LastLogin(id: id, time: time).isLast(among: items.compactMap { DeviceRecord($0) })
  }

  /// Another device may have logged in since this one did: ends the login then, and nobody has seen it. False: it is over.
  func checkLastLogin(since before: String?, of online: OnlineSession) async -> Bool {
    guard online.stream.isCurrent else { return false }
    let plan = online.plan
    let isLast = await wasLastLogin(plan.deviceId, since: before, on: online.stream)
    guard online.stream.isCurrent else { return false }
    if !isLast {
      await refuse(
        online,
        Failure(.deviceChanged, stage: .sync, detail: .session(.otherDevice)))
      return false
    }
    guard await keepLogin(plan, of: online) else { return false }
    online.plan.checksLastLogin = false
    if online.login?.terms.noSync == true { await succeed(online) }
    return true
  }

  /// Stores what the login has given. A session that comes back needs no store; one whose user was promised that it is kept
  /// does. False: the login is over.
  func keepLogin(_ plan: LoginPlan, of online: OnlineSession) async -> Bool {
    do throws(Failure) {
      online.shortfall = try await accounts.loggedIn(plan, presence: presence.desired)
    } catch {
      context.report("store", error)
      if let login = online.login, !login.terms.isAutomatic {
        await refuse(online, error)
        return false
      }
    }
    return online.stream.isCurrent
  }
}
