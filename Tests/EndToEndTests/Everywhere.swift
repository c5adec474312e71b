import TestSupport
import Testing

/// Several servers at the same time: most of what sessions do is waiting.
enum Everywhere {
  @TaskLocal fileprivate static var kind: TestServer.Kind?

  /// Runs `body` on a server of each kind, at once; with ``Testing/Trait/namesServer`` an issue says on which it was.
  static func run(
    on kinds: [TestServer.Kind] = TestServer.Kind.allCases,
    _ body: @escaping @Sendable (TestServer.Kind) async throws -> Void
  ) async {
    await withTaskGroup(of: Void.self) { group in
      for kind in kinds {
        group.addTask {
          await $kind.withValue(kind) {
            do { try await body(kind) } catch { Issue.record(error) }
          }
        }
      }
    }
  }
}

extension Trait where Self == IssueHandlingTrait {
  /// Issues say on which server they were, of those that run at once.
  static var namesServer: Self {
    .compactMapIssues { issue in
      guard let kind = Everywhere.kind else { return issue }
      var issue = issue
      issue.comments.append("on \(kind)")
      return issue
    }
  }
}
