/// What a failure says and advises where its condition, stage or detail tells more than its name.
///
/// A row of ``FailureTable`` has one text for every failure of its name. Some names stand for many causes, each with a
/// remedy of its own: these are told here.
struct FailureAdvice: Sendable {
  let name: Failure.Name
  /// Conditions that this is about; empty: any, or none.
  var conditions: Set<String> = []
  /// The stage that this is about; nil: any.
  var stage: Failure.Stage?
  /// Sentences of which the detail mentions one; empty: whatever it says.
  var details: Set<FailureDetail.Key> = []
  /// What happened, in the place of the row's message; nil: the row's message is right.
  var message: Sentence?
  let hint: Sentence

  /// The first advice that fits; nil where the row says it all.
  static func of(_ failure: Failure) -> FailureAdvice? { all.first { $0.fits(failure) } }

  private func fits(_ failure: Failure) -> Bool {
    guard name == failure.name, stage ?? failure.stage == failure.stage else { return false }
    guard conditions.isEmpty || failure.condition.map(conditions.contains) == true else { return false }
    return details.isEmpty || failure.detail?.mentions(details) == true
  }
}
