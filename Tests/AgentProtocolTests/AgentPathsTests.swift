import AgentProtocol
import Glibc
import Testing

@Suite struct AgentPathsTests {
  private func paths(_ environment: [String: String]) -> AgentPaths? {
    AgentPaths(environment: { environment[$0] }, uid: geteuid())
  }

  @Test("The paths are those of the XDG variables, or else below the home directory.")
  func directories() throws {
    let home = try #require(paths(["HOME": "/home/a"]))
    #expect(home.configuration == "/home/a/.config/imctl")
    #expect(home.state == "/home/a/.local/state/imctl")
    #expect(home.accounts == "/home/a/.config/imctl/accounts.json")
    #expect(home.socket == "/home/a/.local/state/imctl/agent.sock")
    #expect(home.socketDirectory == home.state)
    let xdg = try #require(paths(["HOME": "/home/a", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"]))
    #expect(xdg.configuration == "/c/imctl")
    #expect(xdg.database == "/s/imctl/imctl.sqlite")
  }

  @Test("Relative paths in XDG variables are ignored.")
  func relative() throws {
    let home = try #require(paths(["HOME": "/h", "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "./s"]))
    #expect(home.configuration == "/h/.config/imctl" && home.state == "/h/.local/state/imctl")
  }

  @Test("The home directory comes from the user database if HOME is not set.")
  func noHome() throws {
    #expect(try #require(paths([:])).state.hasSuffix("/.local/state/imctl"))
  }

  @Test("The socket path fits into a socket address and is always the same for one state directory.")
  func longPath() throws {
    for length in [80, 89, 90, 91, 200, 4000] {
      let state = "/" + String(repeating: "x", count: length)
      let paths = AgentPaths(configuration: "/c", state: state)
      #expect(paths.socket.utf8.count <= AgentPaths.maximumSocketPath)
      #expect(paths.socket == AgentPaths(configuration: "/d", state: state).socket)
      #expect((paths.socket == state + "/agent.sock") == ((state + "/agent.sock").utf8.count <= 107))
      #expect(paths.socketDirectory == (paths.socket.hasPrefix("/tmp/") ? paths.shortDirectory : state))
    }
    let one = AgentPaths(configuration: "/c", state: "/" + String(repeating: "x", count: 200) + "1")
    let two = AgentPaths(configuration: "/c", state: "/" + String(repeating: "x", count: 200) + "2")
    #expect(one.socket != two.socket)
  }
}
