"""The process: read the settings, refuse to start with one clear sentence if anything is wrong, run NoneBot."""

import argparse
import logging
import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loguru import Record

    from services.settings import Settings

ROOT = Path(__file__).resolve().parent


def main() -> int:
    """Run the bot until it is stopped. Gives the exit code: 2 when it refuses to start.

    What refuses once uvicorn has begun (a broken database or prompt) ends with its code 3.
    """
    parser = argparse.ArgumentParser(description="群知：从群文件里找答案的 QQ 机器人")
    parser.add_argument("--env-file", type=Path, help="设置文件，默认是程序目录里的 .env")
    named = parser.parse_args().env_file
    if named is not None and not named.is_file():
        print(f"启动失败：没有 --env-file 指定的文件 {named}。", file=sys.stderr)
        return 2
    env_file = ROOT / ".env" if named is None else named.resolve()
    # NoneBot finds its plugins by the working directory.
    os.chdir(ROOT)

    from filelock import FileLock, Timeout

    from services.errors import DataDirectoryError, ServiceError
    from services.settings import load_settings

    try:
        settings = load_settings(env_file, os.environ)
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        lock = FileLock(settings.data_dir / "bot.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout as error:
            raise DataDirectoryError(f"另一个进程正在使用数据目录 {settings.data_dir}，请先停掉它。") from error
        _check_port(settings.host, settings.port)
        _load(settings)
    except ServiceError as error:
        print(f"启动失败：{error.user_message}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"启动失败：数据目录用不了，请检查 DATA_DIR 的权限和磁盘空间（{error}）。", file=sys.stderr)
        return 2

    import nonebot

    # After a clean stop uvicorn raises the signal again, which would then end the process as if it had been killed.
    signal.signal(signal.SIGTERM, _do_nothing)
    # A frozen client frees its slot after about ten seconds; a file in base64 may be one large frame.
    nonebot.run(ws_max_size=64 << 20, ws_ping_interval=5, ws_ping_timeout=5, access_log=False)
    return 0


def _do_nothing(_signal: int, _frame: object) -> None:
    pass


def _check_port(host: str, port: int) -> None:
    from services.errors import SettingsError

    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SettingsError(f"地址 {host}:{port} 用不了，可能被别的程序占着，请改 HOST 或 PORT。") from error


def _load(settings: "Settings") -> None:
    import nonebot
    from nonebot.adapters.onebot.v11 import Adapter
    from nonebot.log import LoguruHandler

    from plugins._result_store import SingleResultStore
    from services.errors import SettingsError

    # All values are handed over: NoneBot's own reading would take a token of digits for a number, and `a,b` for an
    # error. What it must not read again is hidden from it.
    for name in [name for name in os.environ if name.lower() in type(settings).model_fields]:
        del os.environ[name]
    nonebot.init(
        _env_file=(),
        driver="~fastapi",
        host=settings.host,
        port=settings.port,
        log_level=settings.log_level,
        api_timeout=settings.api_timeout,
        superusers=set(settings.superusers),
        nickname=set(settings.nickname),
        command_start={*settings.command_start, *(("／",) if "/" in settings.command_start else ())},
        onebot_access_token=settings.onebot_access_token.get_secret_value() or None,
        qunzhi=settings,
    )
    _keep_messages_out_of_the_log(settings.log_level)
    for name in ("services", "plugins"):
        ours = logging.getLogger(name)
        ours.addHandler(LoguruHandler())
        ours.setLevel("INFO" if settings.log_level == "SUCCESS" else settings.log_level)
        ours.propagate = False

    class TolerantAdapter(Adapter):
        _result_store = SingleResultStore()

    nonebot.get_driver().register_adapter(TolerantAdapter)
    wanted = {path.stem for path in (*Path("plugins").glob("[!_]*.py"), *Path("plugins").glob("[!_]*/"))}
    loaded = {plugin.name for plugin in nonebot.load_plugins("plugins")}
    if missing := sorted(wanted - loaded):
        raise SettingsError(f"插件 {'、'.join(missing)} 没有加载成功，原因见上面的日志。")


def _keep_messages_out_of_the_log(level: str) -> None:
    """NoneBot logs every message of every group in full; what people say is written down at DEBUG only."""
    from nonebot.log import default_filter, default_format, logger, logger_id

    def is_wanted(record: "Record") -> bool:
        is_message = record["name"] == "nonebot" and " | [message" in record["message"]
        return default_filter(record) and (level == "DEBUG" or not is_message)

    logger.remove(logger_id)
    logger.add(sys.stdout, level=0, diagnose=False, filter=is_wanted, format=default_format)


if __name__ == "__main__":
    sys.exit(main())
