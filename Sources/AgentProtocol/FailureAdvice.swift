/// The message and hint of a failure whose condition, stage or detail is more specific than its name.
///
/// A row of ``FailureTable`` has one text for all failures of its name. Some names have several causes, each with its
/// own remedy; these are listed here.
struct FailureAdvice: Sendable {
  let name: Failure.Name
  /// The conditions to which the advice applies; empty: any condition, or none.
  var conditions: Set<String> = []
  /// The stage to which the advice applies; nil: any stage.
  var stage: Failure.Stage?
  /// Keys of which the failure's detail must mention one; empty: any detail.
  var details: Set<FailureDetail.Key> = []
  /// The message that replaces the row's; nil: the row's message applies.
  var message: Sentence?
  let hint: Sentence

  /// The first advice that fits; nil if the row's text applies.
  static func of(_ failure: Failure) -> FailureAdvice? { all.first { $0.fits(failure) } }

  private func fits(_ failure: Failure) -> Bool {
    guard name == failure.name, stage ?? failure.stage == failure.stage else { return false }
    guard conditions.isEmpty || failure.condition.map(conditions.contains) == true else { return false }
    return details.isEmpty || failure.detail?.mentions(details) == true
  }
}
