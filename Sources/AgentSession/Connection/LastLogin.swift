import AgentLogin
import AgentProtocol
import AgentStore
import FoundationEssentials
import XMPP
import XMPPClient
import XMPPFeatures

/// Determines, without I/O, whether a device was the last one to log in, based on the records that the account's
/// devices have published.
struct LastLogin: Sendable, Equatable {
  /// The id of the installation.
  var id: String?
  /// RFC 3339: the stored time of this device's login; nil: none is stored.
  var time: String?

  /// False if another installation has logged in since, or one with the same id, which has a copy of this store.
  /// Records without a valid time are ignored.
  func isLast(among records: [DeviceRecord]) -> Bool {
    let published = records.first { $0.id == id }.flatMap { Self.date($0.lastLogin) }
    let own = Self.date(time) ?? published
    if let own, let published, published > own { return false }
    let others = records.filter { $0.id != id }.compactMap { Self.date($0.lastLogin) }
    guard let last = others.max() else { return true }
    // An installation with an equal time has a copy of this store and another id.
    return own.map { last < $0 } ?? false
  }

  private static func date(_ time: String?) -> Date? { time.flatMap(Timestamp.date) }
}

extension Session {
  /// Whether no other device has logged in since this one did; true if this cannot be determined.
  func wasLastLogin(_ id: String?, since time: String?, on stream: BoundSession) async -> Bool {
    guard let items = try? await DeviceRecord.node.items(on: stream, timeout: .seconds(10)) else {
      return true
    }
    return LastLogin(id: id, time: time).isLast(among: items.compactMap { DeviceRecord($0) })
  }

  /// Ends the login if another device has logged in since this one did; no other user has seen it then. Returns false
  /// if the login is over.
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
    online.changePlan { $0.checksLastLogin = false }
    if online.login?.terms.noSync == true { await succeed(online) }
    return true
  }

  /// Stores the results of the login. If that fails, a reconnecting session continues, but a login by a user ends,
  /// because the user expects it to be stored. Returns false if the login is over.
  func keepLogin(_ plan: LoginPlan, of online: OnlineSession) async -> Bool {
    do throws(Failure) {
      online.stored(lacking: try await accounts.loggedIn(plan, presence: presence.desired))
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
