/// Asks until the answer is yes, where nothing tells when it becomes so. The limit only keeps a broken test from hanging.
///
/// - Parameters:
///   - what: what is waited for, as the subject of a sentence.
///   - failure: what a failure tells besides.
/// - Throws: `TestSupportError` when the answer is still no after `limit`.
public func eventually(
  _ what: String = "what the test waits for", within limit: Duration = .seconds(30),
  _ holds: () async throws -> Bool, failure: () -> String = { "" }
) async throws {
  let deadline = ContinuousClock.now + limit
  while try await !holds() {
    if ContinuousClock.now > deadline { throw TestSupportError("\(what) did not come" + failure()) }
    try await Task.sleep(for: .milliseconds(5))
  }
}
