/// What the connection machine does in each state that can be reached, with each input: the state that follows, as
/// wish/attempt/link, and the actions with the numbers of their streams. An input that is missing changes nothing.
enum ConnectionTable {
  static let text = """
    offline/none/none
      connect: online/preparing/none prepare-1
      replace: online/preparing/none prepare-1
      prepared: offline/none/none close-0
      bound: offline/none/none close-0
    online/preparing/none
      replace: online/preparing/none close-1 prepare-2
      disconnect: offline/none/none close-1
      suspend: suspended/none/none close-1
      prepared: online/opening/none open-1
      bound: online/preparing/none close-1
      failed: online/deciding/none decide-2-failed
    suspended/none/none
      connect: online/preparing/none prepare-2
      replace: online/preparing/none prepare-2
      disconnect: offline/none/none
      wake: online/preparing/none prepare-2
      prepared: suspended/none/none close-1
      bound: suspended/none/none close-1
    online/opening/none
      replace: online/preparing/none close-1 prepare-2
      disconnect: offline/none/none close-1
      suspend: suspended/none/none close-1
      bound: online/none/bound
      failed: online/deciding/none decide-2-failed
      address: online/preparing/none close-1 prepare-2-fromAnotherAddress
    online/deciding/none
      replace: online/preparing/none prepare-3
      disconnect: offline/none/none
      suspend: suspended/none/none
      prepared: online/deciding/none close-2
      bound: online/deciding/none close-2
      again: online/preparing/none prepare-3
      later: online/waiting/none startTimer-2
      never: offline/none/none
    online/none/bound
      replace: online/preparing/bound prepare-2
      disconnect: offline/none/closing close-1
      suspend: suspended/none/closing close-1
      failed: online/deciding/none decide-2-lost
      lost: online/deciding/none decide-2-lost
      network: online/none/probing probe-1
      address: online/none/probing probe-1
    online/waiting/none
      connect: online/preparing/none stopTimer-2 prepare-3
      replace: online/preparing/none stopTimer-2 prepare-3
      disconnect: offline/none/none stopTimer-2
      suspend: suspended/none/none stopTimer-2
      prepared: online/waiting/none close-2
      bound: online/waiting/none close-2
      timer: online/preparing/none prepare-3
      network: online/preparing/none stopTimer-2 prepare-3
      address: online/preparing/none stopTimer-2 prepare-3
    online/preparing/bound
      replace: online/preparing/bound close-2 prepare-3
      disconnect: offline/none/closing close-2 close-1
      suspend: suspended/none/closing close-2 close-1
      prepared: online/opening/bound open-2
      bound: online/preparing/bound close-2
      failed: online/deciding/bound decide-3-failed
      lost: online/preparing/none
      network: online/preparing/probing probe-1
      address: online/preparing/probing probe-1
    offline/none/closing
      connect: online/none/closing
      replace: online/none/closing
      failed: offline/none/none
      lost: offline/none/none
    suspended/none/closing
      connect: online/none/closing
      replace: online/none/closing
      disconnect: offline/none/closing
      wake: online/none/closing
      failed: suspended/none/none
      lost: suspended/none/none
    online/none/probing
      replace: online/preparing/probing prepare-2
      disconnect: offline/none/closing close-1
      suspend: suspended/none/closing close-1
      failed: online/deciding/none decide-2-lost
      lost: online/deciding/none decide-2-lost
      answered: online/none/bound
      silent: online/none/bound abort-1
    online/opening/bound
      replace: online/preparing/bound close-2 prepare-3
      disconnect: offline/none/closing close-2 close-1
      suspend: suspended/none/closing close-2 close-1
      bound: online/none/bound close-1
      failed: online/deciding/bound decide-3-failed
      lost: online/opening/none
      network: online/opening/probing probe-1
      address: online/preparing/probing close-2 prepare-3-fromAnotherAddress probe-1
    online/deciding/bound
      replace: online/preparing/bound prepare-4
      disconnect: offline/none/closing close-1
      suspend: suspended/none/closing close-1
      prepared: online/deciding/bound close-3
      bound: online/deciding/bound close-3
      again: online/preparing/bound prepare-4
      later: online/waiting/bound startTimer-3
      never: online/none/bound
      lost: online/deciding/none
      network: online/deciding/probing probe-1
      address: online/deciding/probing probe-1
    online/preparing/probing
      replace: online/preparing/probing close-2 prepare-3
      disconnect: offline/none/closing close-2 close-1
      suspend: suspended/none/closing close-2 close-1
      prepared: online/opening/probing open-2
      bound: online/preparing/probing close-2
      failed: online/deciding/probing decide-3-failed
      lost: online/preparing/none
      answered: online/preparing/bound
      silent: online/preparing/bound abort-1
    online/none/closing
      disconnect: offline/none/closing
      suspend: suspended/none/closing
      failed: online/preparing/none prepare-2
      lost: online/preparing/none prepare-2
    online/opening/probing
      replace: online/preparing/probing close-2 prepare-3
      disconnect: offline/none/closing close-2 close-1
      suspend: suspended/none/closing close-2 close-1
      bound: online/none/bound close-1
      failed: online/deciding/probing decide-3-failed
      lost: online/opening/none
      address: online/preparing/probing close-2 prepare-3-fromAnotherAddress
      answered: online/opening/bound
      silent: online/opening/bound abort-1
    online/waiting/bound
      replace: online/preparing/bound stopTimer-3 prepare-4
      disconnect: offline/none/closing stopTimer-3 close-1
      suspend: suspended/none/closing stopTimer-3 close-1
      prepared: online/waiting/bound close-3
      bound: online/waiting/bound close-3
      timer: online/preparing/bound prepare-4
      lost: online/waiting/none
      network: online/preparing/probing stopTimer-3 prepare-4 probe-1
      address: online/preparing/probing stopTimer-3 prepare-4 probe-1
    online/deciding/probing
      replace: online/preparing/probing prepare-4
      disconnect: offline/none/closing close-1
      suspend: suspended/none/closing close-1
      prepared: online/deciding/probing close-3
      bound: online/deciding/probing close-3
      again: online/preparing/probing prepare-4
      later: online/waiting/probing startTimer-3
      never: online/none/probing
      lost: online/deciding/none
      answered: online/deciding/bound
      silent: online/deciding/bound abort-1
    online/waiting/probing
      replace: online/preparing/probing stopTimer-3 prepare-4
      disconnect: offline/none/closing stopTimer-3 close-1
      suspend: suspended/none/closing stopTimer-3 close-1
      prepared: online/waiting/probing close-3
      bound: online/waiting/probing close-3
      timer: online/preparing/probing prepare-4
      lost: online/waiting/none
      network: online/preparing/probing stopTimer-3 prepare-4
      address: online/preparing/probing stopTimer-3 prepare-4
      answered: online/waiting/bound
      silent: online/waiting/bound abort-1
    """
}
