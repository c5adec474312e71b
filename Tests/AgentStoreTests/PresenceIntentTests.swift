import AgentProtocol
import Testing

@testable import AgentStore

@Suite struct PresenceIntentTests {
  private func value(_ show: PresenceShow, _ status: String? = nil) -> Availability {
    .init(show: show, status: status)
  }

  @Test("The presence from before returns when a timed presence ends.")
  func timed() {
    var presence = PresenceIntent(base: value(.chat))
    presence.set(value(.away, "lunch"), until: 100)
    #expect(presence.effective == value(.away, "lunch"))
    let ended1 = presence.expire(at: 99)
    #expect(!ended1)
    let ended2 = presence.expire(at: 100)
    #expect(ended2)
    #expect(presence.effective == value(.chat))
  }

  @Test("A presence without an end replaces a timed presence.")
  func replaced() {
    var presence = PresenceIntent()
    presence.set(value(.away), until: 100)
    presence.set(value(.xa))
    let ended3 = presence.expire(at: 1000)
    #expect(!ended3)
    #expect(presence.effective == value(.xa))
  }

  @Test(
    "A priority belongs to the presence that it was given with, and a temporary presence keeps the lasting one's."
  )
  func priority() {
    var presence = PresenceIntent(base: .init(show: .dnd, priority: -128))
    #expect(presence.usualPriority(isLasting: true) == 0)
    #expect(presence.usualPriority(isLasting: false) == -128)
    // What is held beside ends before the time does.
    presence.set(value(.chat))
    presence.hold(.init(show: .dnd, priority: -128), by: 1)
    #expect(presence.usualPriority(isLasting: false) == 0)
    presence.set(.init(show: .away, priority: 5), until: 100)
    #expect(presence.usualPriority(isLasting: false) == 0)
  }

  @Test("The newest of several overlapping holds is in effect, in whatever order they end.")
  func holds() {
    var presence = PresenceIntent(base: value(.online))
    presence.hold(value(.dnd, "one"), by: 1)
    presence.hold(value(.dnd, "two"), by: 2)
    presence.hold(value(.dnd, "three"), by: 3)
    #expect(presence.effective.status == "three")
    let ended4 = presence.release(2)
    #expect(ended4)
    #expect(presence.effective.status == "three")
    let ended5 = presence.release(3)
    #expect(ended5)
    #expect(presence.effective.status == "one")
    let ended6 = presence.release(1)
    #expect(ended6)
    #expect(presence.effective == value(.online))
    let ended7 = presence.release(1)
    #expect(!ended7)
  }

  @Test("Holds that are restored in a new agent have the same precedence in any order.")
  func holdsComeBack() {
    var presence = PresenceIntent(base: value(.online))
    presence.hold(value(.dnd, "three"), by: 7, since: 30)
    presence.hold(value(.dnd, "one"), by: 8, since: 10)
    #expect(presence.effective.status == "three")
    presence.hold(value(.dnd, "two"), by: 9, since: 20)
    let ended = presence.release(7)
    #expect(ended && presence.effective.status == "two")
    presence.hold(value(.dnd, "one again"), by: 8, since: 40)
    #expect(presence.effective.status == "one again")
  }

  @Test("A presence that is set during a hold takes effect when the hold ends.")
  func setWhileHeld() {
    var presence = PresenceIntent()
    presence.hold(value(.dnd), by: 1)
    presence.set(value(.away))
    #expect(presence.effective == value(.dnd))
    let ended8 = presence.release(1)
    #expect(ended8)
    #expect(presence.effective == value(.away))
  }

  @Test("A timed presence that ends during a hold is not in effect afterwards.")
  func timedDuringHold() {
    var presence = PresenceIntent(base: value(.chat))
    presence.set(value(.away), until: 100)
    presence.hold(value(.dnd), by: 1)
    let ended9 = presence.expire(at: 200)
    #expect(ended9)
    #expect(presence.effective == value(.dnd))
    let ended10 = presence.release(1)
    #expect(ended10)
    #expect(presence.effective == value(.chat))
  }
}
