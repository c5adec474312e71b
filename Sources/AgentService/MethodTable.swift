import AgentProtocol

/// The methods of the agent, by name. The table decodes and checks the parameters of a request, gives the client a
/// place, calls the registered function, and encodes its result.
struct MethodTable: Sendable {
  /// The result of a request.
  struct Outcome: Sendable {
    /// The answer as a line; nil for a notification.
    var answer: String?
    /// Waits for the answer and returns its line, where the answer comes later.
    var later: (@Sendable () async -> String)?
    /// Whether the answer is written before the pending answers to earlier requests.
    var isAnsweredFirst = false
    /// Whether the client keeps its place.
    var occupiesPlaceAfterAnswer = false
    /// The action after the answer was written.
    var afterwards: (@Sendable () async -> Void)?
  }

  private typealias Carrier = @Sendable (RPCCall, RequestContext) async throws -> Outcome

  private var methods: [String: Carrier] = [:]

  init() {}

  /// The names of the registered methods.
  var names: Set<String> { Set(methods.keys) }

  /// Registers the function that carries out a method.
  ///
  /// Requests of one client run one after the other, those of different clients concurrently. When the client
  /// disconnects, the task of its running request is cancelled.
  ///
  /// - Parameter afterwards: called when the answer is written.
  mutating func register<Method: AgentMethod>(
    _: Method.Type, afterwards: (@Sendable () async -> Void)? = nil,
    _ perform: @escaping @Sendable (Method.Parameters, RequestContext) async throws -> Method.Result
  ) {
    add(Method.self) { call, context in
      if Method.needsPlace { try context.places.acquire(context.client) }
      let parameters = try call.parameters(of: Method.self)
      let result = try await perform(parameters, context)
      return Outcome(
        answer: call.id.map { RPC.answer($0, result) }, isAnsweredFirst: Method.isAnsweredFirst,
        occupiesPlaceAfterAnswer: Method.occupiesPlaceAfterAnswer(parameters), afterwards: afterwards)
    }
  }

  /// Registers the function of a method that answers later.
  ///
  /// - Parameter submit: returns when the request is stored. The function that it returns waits for the outcome.
  mutating func register<Method: SubmissionMethod>(
    submission _: Method.Type,
    _ submit:
      @escaping @Sendable (Method.Parameters, RequestContext) async throws
      -> @Sendable () async throws -> Method.Result
  ) {
    add(Method.self) { call, context in
      var parameters = try call.parameters(of: Method.self)
      parameters.timeout = try await context.places.acquireInTurn(context.client, within: parameters.timeout)
      let result = try await submit(parameters, context)
      guard let id = call.id else { return Outcome() }
      return Outcome(later: { await Self.answer(id) { RPC.answer(id, try await result()) } })
    }
  }

  private mutating func add<Method: AgentMethod>(_: Method.Type, _ carrier: @escaping Carrier) {
    let earlier = methods.updateValue(carrier, forKey: Method.name)
    precondition(earlier == nil, "\(Method.name) is registered twice")
  }

  /// Carries out the request in a line.
  func handle(_ line: String, _ context: RequestContext) async -> Outcome {
    let call: RPCCall
    do {
      call = try RPCCall(line: line)
    } catch {
      return Outcome(answer: RPC.answer(.null, error))
    }
    do {
      guard let method = methods[call.method] else { throw RPCError.unknownMethod(call.method) }
      return try await method(call, context)
    } catch {
      return Outcome(answer: call.id.map { RPC.answer($0, RPCError(any: error)) })
    }
  }

  private static func answer(_ id: RPCID, _ line: () async throws -> String) async -> String {
    do { return try await line() } catch { return RPC.answer(id, RPCError(any: error)) }
  }
}
