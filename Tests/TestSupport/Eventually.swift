/// Asks until the answer is yes, for what tells nobody when it happens. The limit only keeps a broken test from hanging.
///
/// - Parameter what: what is waited for, as the subject of a sentence.
/// - Throws: `TestSupportError` when the answer is still no after 30 seconds.
public func eventually(
  _ what: String = "what the test waits for", _ holds: () async throws -> Bool
) async throws {
  let limit = ContinuousClock.now + .seconds(30)
  while try await !holds() {
    if ContinuousClock.now > limit { throw TestSupportError("\(what) did not come") }
    try await Task.sleep(for: .milliseconds(5))
  }
}
