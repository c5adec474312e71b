import CResolv

/// The DNS answer for one service of a domain.
enum SRVAnswer: Sendable, Equatable {
  /// An SRV record with a usable target.
  struct Record: Sendable, Equatable {
    var priority: UInt16
    var weight: UInt16
    var port: UInt16
    var host: String
  }

  case records([Record])
  /// The only target is ".": the service is explicitly unavailable (RFC 2782).
  case unavailable
  /// The name or the record does not exist, or no name server answered.
  case none

  /// The maximum number of records; others are ignored.
  static let maximumRecords = 64

  func targets(tls: TLSMode) -> [ServerTarget] {
    guard case .records(let records) = self else { return [] }
    return records.map {
      ServerTarget(host: $0.host, port: Int($0.port), tls: tls, priority: $0.priority, weight: $0.weight)
    }
  }

  /// Queries DNS up to `attempts` times. Blocks the thread for two seconds for each attempt and name server; longer if
  /// a name server accepts a TCP connection and does not answer.
  init(name: String, nameServer: SRVResolver.NameServer?, attempts: Int32) {
    self = .none
    let state = res_state.allocate(capacity: 1)
    defer { state.deallocate() }
    guard resolv_init(state) == 0 else { return }
    defer { resolv_close(state) }
    state.pointee.retrans = 2
    state.pointee.retry = attempts
    if let nameServer {
      var address = in_addr()
      guard inet_pton(AF_INET, nameServer.address, &address) == 1 else { return }
      resolv_set_nameserver(state, address, nameServer.port)
    }
    var answer = [UInt8](repeating: 0, count: Int(UInt16.max))
    let length = resolv_query(
      state, name, Int32(ns_c_in.rawValue), Int32(ns_t_srv.rawValue), &answer, Int32(answer.count))
    guard length > 0 else { return }
    self.init(message: answer.prefix(Int(length)))
  }

  /// Parses a DNS response (RFC 1035 §4, RFC 2782); damaged records are ignored.
  init(message bytes: some Collection<UInt8>) {
    self = .none
    let message = Array(bytes.prefix(Int(UInt16.max)))
    message.withUnsafeBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return }
      var handle = ns_msg()
      guard
        ns_initparse(start, Int32(buffer.count), &handle) == 0,
        resolv_rcode(handle) == Int32(ns_r_noerror.rawValue)
      else { return }
      var records: [Record] = []
      var refused = false
      for index in 0..<min(resolv_answer_count(handle), Int32(Self.maximumRecords)) {
        var resource = ns_rr()
        guard ns_parserr(&handle, ns_s_an, index, &resource) == 0 else { break }
        guard
          resource.type == UInt16(ns_t_srv.rawValue), resource.rr_class == UInt16(ns_c_in.rawValue),
          resource.rdlength > 6, let data = resource.rdata
        else { continue }
        func number(at offset: Int) -> UInt16 { UInt16(data[offset]) << 8 | UInt16(data[offset + 1]) }
        var name = [CChar](repeating: 0, count: Int(NS_MAXDNAME))
        let end = start + buffer.count
        guard ns_name_uncompress(start, end, data + 6, &name, name.count) > 0 else { continue }
        let host = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if host.isEmpty || host == "." {
          refused = true
        } else if Self.isHostName(host), number(at: 4) != 0 {
          records.append(
            Record(priority: number(at: 0), weight: number(at: 2), port: number(at: 4), host: host))
        }
      }
      if !records.isEmpty {
        self = .records(records)
      } else if refused {
        self = .unavailable
      }
    }
  }

  /// Whether the name has only letters, digits, hyphens, underscores and dots, and is thus safe to resolve and to
  /// display.
  private static func isHostName(_ name: String) -> Bool {
    name.utf8.first != UInt8(ascii: ".")
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
          true
        default: false
        }
      }
  }
}
