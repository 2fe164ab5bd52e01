"""Troubles that QQ bots meet in production, as presets of faults to switch on and off."""

from collections.abc import Set as AbstractSet
from typing import Literal, get_args

from simulator.faults import ANY, Faults

Trouble = Literal["slow", "timeout", "refused", "deaf", "expired"]
TROUBLE_NAMES: tuple[Trouble, ...] = get_args(Trouble)
_SLOW_S = 5.0
_SENDING = (
    "send_msg",
    "send_group_msg",
    "send_private_msg",
    "send_forward_msg",
    "send_group_forward_msg",
    "send_private_forward_msg",
    "upload_group_file",
    "upload_private_file",
)


def apply(troubles: AbstractSet[Trouble], faults: Faults) -> None:
    """Inject the faults of exactly these troubles into the actions. The file host handles expired links."""
    faults.restore()
    if "slow" in troubles:
        faults.delay(ANY, _SLOW_S)
    # NapCat's error if QQ does not confirm a message in time. The message has arrived all the same.
    if "timeout" in troubles:
        faults.fail(
            *_SENDING, message="Timeout: NTEvent serviceAndMethod:NodeIKernelMsgService/sendMsg", performed=True
        )
    if "refused" in troubles:
        faults.fail(*_SENDING, message="EventChecker Failed: result 120, 消息被拒绝")
    if "deaf" in troubles:
        faults.ignore(ANY)
