import AgentProtocol
import TestSupport

extension TemporaryDirectory {
  /// The files of an agent that a test starts here.
  var paths: AgentPaths { AgentPaths(configuration: path + "/config", state: path + "/state") }
}
