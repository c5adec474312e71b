/// What the connection machine does in each state that can be reached, with each input: the state that follows, as
/// wish/attempt/link, and the actions with the numbers of their streams. An input that is missing changes nothing.
enum ConnectionTable {
  static let text = """
    offline/none/none
      connect: online/preparing/none prepare-1
      connectLater: online/waiting/none startTimer-1
      replace: online/preparing/none prepare-1
      replaceLater: online/waiting/none startTimer-1
      prepared: offline/none/none close-0
      bound: offline/none/none close-0
    online/preparing/none
      replace: online/preparing/none close-1 prepare-2
      disconnect: offline/none/none close-1
      replaceLater: online/waiting/none close-1 startTimer-2
      suspend: suspended/none/none close-1
      hold: held/none/none close-1
      prepared: online/opening/none open-1
      bound: online/preparing/none close-1
      failed: online/deciding/none decide-2-failed
    online/waiting/none
      replace: online/preparing/none stopTimer-1 prepare-2
      disconnect: offline/none/none stopTimer-1
      replaceLater: online/waiting/none stopTimer-1 startTimer-2
      suspend: suspended/none/none stopTimer-1
      hold: held/none/none stopTimer-1
      prepared: online/waiting/none close-1
      bound: online/waiting/none close-1
      timer: online/preparing/none prepare-2
    suspended/none/none
      connect: online/preparing/none prepare-2
      connectLater: online/waiting/none startTimer-2
      replace: online/preparing/none prepare-2
      disconnect: offline/none/none
      replaceLater: online/waiting/none startTimer-2
      prepared: suspended/none/none close-1
      bound: suspended/none/none close-1
    held/none/none
      connect: online/preparing/none prepare-2
      connectLater: online/waiting/none startTimer-2
      replace: online/preparing/none prepare-2
      disconnect: offline/none/none
      replaceLater: online/waiting/none startTimer-2
      suspend: suspended/none/none
      prepared: held/none/none close-1
      bound: held/none/none close-1
    online/opening/none
      replace: online/preparing/none close-1 prepare-2
      disconnect: offline/none/none close-1
      replaceLater: online/waiting/none close-1 startTimer-2
      suspend: suspended/none/none close-1
      hold: held/none/none close-1
      bound: online/none/beginning
      failed: online/deciding/none decide-2-failed
      address: online/preparing/none close-1 prepare-2-fromAnotherAddress
    online/deciding/none
      connect: online/preparing/none close-2 prepare-3
      connectLater: online/waiting/none close-2 startTimer-3
      replace: online/preparing/none close-2 prepare-3
      disconnect: offline/none/none close-2
      replaceLater: online/waiting/none close-2 startTimer-3
      suspend: suspended/none/none close-2
      hold: held/none/none close-2
      prepared: online/deciding/none close-2
      bound: online/deciding/none close-2
      again: online/preparing/none prepare-3
      later: online/waiting/none startTimer-3
      never: offline/none/none
    online/none/beginning
      replace: online/preparing/beginning prepare-2
      disconnect: offline/none/closing close-1
      replaceLater: online/waiting/beginning startTimer-2
      suspend: suspended/none/closing close-1
      hold: held/none/closing close-1
      failed: online/deciding/none decide-2-failed
      lost: online/deciding/none decide-2-failed
      accepted: online/none/bound
      refused: online/deciding/closing close-1 decide-2-failed
      address: online/none/beginning abort-1
    online/preparing/beginning
      replace: online/preparing/beginning close-2 prepare-3
      disconnect: offline/none/closing close-2 close-1
      replaceLater: online/waiting/beginning close-2 startTimer-3
      suspend: suspended/none/closing close-2 close-1
      hold: held/none/closing close-2 close-1
      prepared: online/opening/beginning open-2
      bound: online/preparing/beginning close-2
      failed: online/deciding/beginning decide-3-failed
      lost: online/preparing/none
      accepted: online/preparing/bound
      refused: online/preparing/closing close-1
      address: online/preparing/beginning abort-1
    offline/none/closing
      connect: online/preparing/closing prepare-2
      connectLater: online/waiting/closing startTimer-2
      replace: online/preparing/closing prepare-2
      replaceLater: online/waiting/closing startTimer-2
      failed: offline/none/none
      lost: offline/none/none
    online/waiting/beginning
      replace: online/preparing/beginning stopTimer-2 prepare-3
      disconnect: offline/none/closing stopTimer-2 close-1
      replaceLater: online/waiting/beginning stopTimer-2 startTimer-3
      suspend: suspended/none/closing stopTimer-2 close-1
      hold: held/none/closing stopTimer-2 close-1
      prepared: online/waiting/beginning close-2
      bound: online/waiting/beginning close-2
      timer: online/preparing/beginning prepare-3
      lost: online/waiting/none
      accepted: online/waiting/bound
      refused: online/waiting/closing close-1
      address: online/waiting/beginning abort-1
    suspended/none/closing
      connect: online/preparing/closing prepare-2
      connectLater: online/waiting/closing startTimer-2
      replace: online/preparing/closing prepare-2
      disconnect: offline/none/closing
      replaceLater: online/waiting/closing startTimer-2
      failed: suspended/none/none
      lost: suspended/none/none
    held/none/closing
      connect: online/preparing/closing prepare-2
      connectLater: online/waiting/closing startTimer-2
      replace: online/preparing/closing prepare-2
      disconnect: offline/none/closing
      replaceLater: online/waiting/closing startTimer-2
      suspend: suspended/none/closing
      failed: held/none/none
      lost: held/none/none
    online/none/bound
      replace: online/preparing/bound prepare-2
      disconnect: offline/none/closing close-1
      replaceLater: online/waiting/bound startTimer-2
      suspend: suspended/none/closing close-1
      hold: held/none/bound
      failed: online/deciding/none decide-2-lost
      lost: online/deciding/none decide-2-lost
      network: online/none/probing probe-1
      address: online/none/probing probe-1
    online/deciding/closing
      connect: online/preparing/closing close-2 prepare-3
      connectLater: online/waiting/closing close-2 startTimer-3
      replace: online/preparing/closing close-2 prepare-3
      disconnect: offline/none/closing close-2
      replaceLater: online/waiting/closing close-2 startTimer-3
      suspend: suspended/none/closing close-2
      hold: held/none/closing close-2
      prepared: online/deciding/closing close-2
      bound: online/deciding/closing close-2
      again: online/preparing/closing prepare-3
      later: online/waiting/closing startTimer-3
      never: offline/none/closing
      lost: online/deciding/none
    online/opening/beginning
      replace: online/preparing/beginning close-2 prepare-3
      disconnect: offline/none/closing close-2 close-1
      replaceLater: online/waiting/beginning close-2 startTimer-3
      suspend: suspended/none/closing close-2 close-1
      hold: held/none/closing close-2 close-1
      bound: online/none/beginning close-1
      failed: online/deciding/beginning decide-3-failed
      lost: online/opening/none
      accepted: online/opening/bound
      refused: online/opening/closing close-1
      address: online/preparing/beginning close-2 prepare-3-fromAnotherAddress abort-1
    online/deciding/beginning
      replace: online/preparing/beginning close-3 prepare-4
      disconnect: offline/none/closing close-3 close-1
      replaceLater: online/waiting/beginning close-3 startTimer-4
      suspend: suspended/none/closing close-3 close-1
      hold: held/none/closing close-3 close-1
      prepared: online/deciding/beginning close-3
      bound: online/deciding/beginning close-3
      again: online/preparing/beginning prepare-4
      later: online/waiting/beginning startTimer-4
      never: online/none/beginning
      lost: online/deciding/none
      accepted: online/deciding/bound
      refused: online/deciding/closing close-1
      address: online/deciding/beginning abort-1
    online/preparing/bound
      replace: online/preparing/bound close-2 prepare-3
      disconnect: offline/none/closing close-2 close-1
      replaceLater: online/waiting/bound close-2 startTimer-3
      suspend: suspended/none/closing close-2 close-1
      hold: held/none/bound close-2
      prepared: online/opening/bound open-2
      bound: online/preparing/bound close-2
      failed: online/deciding/bound decide-3-failed
      lost: online/preparing/none decide-1-lost
      network: online/preparing/probing probe-1
      address: online/preparing/probing probe-1
    online/preparing/closing
      replace: online/preparing/closing close-2 prepare-3
      disconnect: offline/none/closing close-2
      replaceLater: online/waiting/closing close-2 startTimer-3
      suspend: suspended/none/closing close-2
      hold: held/none/closing close-2
      prepared: online/opening/closing open-2
      bound: online/preparing/closing close-2
      failed: online/deciding/closing decide-3-failed
      lost: online/preparing/none
    online/waiting/closing
      replace: online/preparing/closing stopTimer-2 prepare-3
      disconnect: offline/none/closing stopTimer-2
      replaceLater: online/waiting/closing stopTimer-2 startTimer-3
      suspend: suspended/none/closing stopTimer-2
      hold: held/none/closing stopTimer-2
      prepared: online/waiting/closing close-2
      bound: online/waiting/closing close-2
      timer: online/preparing/closing prepare-3
      lost: online/waiting/none
    online/waiting/bound
      replace: online/preparing/bound stopTimer-2 prepare-3
      disconnect: offline/none/closing stopTimer-2 close-1
      replaceLater: online/waiting/bound stopTimer-2 startTimer-3
      suspend: suspended/none/closing stopTimer-2 close-1
      hold: held/none/bound stopTimer-2
      prepared: online/waiting/bound close-2
      bound: online/waiting/bound close-2
      timer: online/preparing/bound prepare-3
      lost: online/waiting/none decide-1-lost
      network: online/waiting/probing probe-1
      address: online/waiting/probing probe-1
    held/none/bound
      connect: online/none/bound
      connectLater: online/none/bound
      replace: online/preparing/bound prepare-2
      disconnect: offline/none/closing close-1
      replaceLater: online/waiting/bound startTimer-2
      suspend: suspended/none/closing close-1
      failed: held/deciding/none decide-2-lost
      lost: held/deciding/none decide-2-lost
      network: held/none/probing probe-1
      address: held/none/probing probe-1
    online/none/probing
      replace: online/preparing/probing prepare-2
      disconnect: offline/none/closing close-1
      replaceLater: online/waiting/probing startTimer-2
      suspend: suspended/none/closing close-1
      hold: held/none/probing
      failed: online/deciding/none decide-2-lost
      lost: online/deciding/none decide-2-lost
      address: online/none/probing abort-1
      answered: online/none/bound
    online/opening/bound
      replace: online/preparing/bound close-2 prepare-3
      disconnect: offline/none/closing close-2 close-1
      replaceLater: online/waiting/bound close-2 startTimer-3
      suspend: suspended/none/closing close-2 close-1
      hold: held/none/bound close-2
      bound: online/none/beginning close-1
      failed: online/deciding/bound decide-3-failed
      lost: online/opening/none decide-1-lost
      network: online/opening/probing probe-1
      address: online/preparing/probing close-2 prepare-3-fromAnotherAddress probe-1
    online/opening/closing
      replace: online/preparing/closing close-2 prepare-3
      disconnect: offline/none/closing close-2
      replaceLater: online/waiting/closing close-2 startTimer-3
      suspend: suspended/none/closing close-2
      hold: held/none/closing close-2
      bound: online/none/beginning close-1
      failed: online/deciding/closing decide-3-failed
      lost: online/opening/none
      address: online/preparing/closing close-2 prepare-3-fromAnotherAddress
    online/deciding/bound
      replace: online/preparing/bound close-3 prepare-4
      disconnect: offline/none/closing close-3 close-1
      replaceLater: online/waiting/bound close-3 startTimer-4
      suspend: suspended/none/closing close-3 close-1
      hold: held/none/bound close-3
      prepared: online/deciding/bound close-3
      bound: online/deciding/bound close-3
      again: online/preparing/bound prepare-4
      later: online/waiting/bound startTimer-4
      never: online/none/bound
      lost: online/deciding/none decide-1-lost
      network: online/deciding/probing probe-1
      address: online/deciding/probing probe-1
    online/preparing/probing
      replace: online/preparing/probing close-2 prepare-3
      disconnect: offline/none/closing close-2 close-1
      replaceLater: online/waiting/probing close-2 startTimer-3
      suspend: suspended/none/closing close-2 close-1
      hold: held/none/probing close-2
      prepared: online/opening/probing open-2
      bound: online/preparing/probing close-2
      failed: online/deciding/probing decide-3-failed
      lost: online/preparing/none decide-1-lost
      address: online/preparing/probing abort-1
      answered: online/preparing/bound
    online/waiting/probing
      replace: online/preparing/probing stopTimer-2 prepare-3
      disconnect: offline/none/closing stopTimer-2 close-1
      replaceLater: online/waiting/probing stopTimer-2 startTimer-3
      suspend: suspended/none/closing stopTimer-2 close-1
      hold: held/none/probing stopTimer-2
      prepared: online/waiting/probing close-2
      bound: online/waiting/probing close-2
      timer: online/preparing/probing prepare-3
      lost: online/waiting/none decide-1-lost
      address: online/waiting/probing abort-1
      answered: online/waiting/bound
    held/deciding/none
      connect: online/deciding/none
      connectLater: online/deciding/none
      replace: online/preparing/none close-2 prepare-3
      disconnect: offline/none/none close-2
      replaceLater: online/waiting/none close-2 startTimer-3
      suspend: suspended/none/none close-2
      prepared: held/deciding/none close-2
      bound: held/deciding/none close-2
      again: held/none/none
      later: held/none/none
      never: offline/none/none
    held/none/probing
      connect: online/none/probing
      connectLater: online/none/probing
      replace: online/preparing/probing prepare-2
      disconnect: offline/none/closing close-1
      replaceLater: online/waiting/probing startTimer-2
      suspend: suspended/none/closing close-1
      failed: held/deciding/none decide-2-lost
      lost: held/deciding/none decide-2-lost
      address: held/none/probing abort-1
      answered: held/none/bound
    online/opening/probing
      replace: online/preparing/probing close-2 prepare-3
      disconnect: offline/none/closing close-2 close-1
      replaceLater: online/waiting/probing close-2 startTimer-3
      suspend: suspended/none/closing close-2 close-1
      hold: held/none/probing close-2
      bound: online/none/beginning close-1
      failed: online/deciding/probing decide-3-failed
      lost: online/opening/none decide-1-lost
      address: online/preparing/probing close-2 prepare-3-fromAnotherAddress abort-1
      answered: online/opening/bound
    online/deciding/probing
      replace: online/preparing/probing close-3 prepare-4
      disconnect: offline/none/closing close-3 close-1
      replaceLater: online/waiting/probing close-3 startTimer-4
      suspend: suspended/none/closing close-3 close-1
      hold: held/none/probing close-3
      prepared: online/deciding/probing close-3
      bound: online/deciding/probing close-3
      again: online/preparing/probing prepare-4
      later: online/waiting/probing startTimer-4
      never: online/none/probing
      lost: online/deciding/none decide-1-lost
      address: online/deciding/probing abort-1
      answered: online/deciding/bound
    """
}
