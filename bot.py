"""The entry point. It loads the settings and runs NoneBot, or refuses to start with one clear sentence."""

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
    """Run the bot until it is stopped and return the exit code, which is 2 if the bot refuses to start.

    A failure after uvicorn has started (a broken database or prompt) ends the process with uvicorn's exit code 3.
    """
    # These handlers apply until the server runs. Process 1 of a container ignores a signal that has no handler.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end_at_once)
    parser = argparse.ArgumentParser(description="群知：从群文件里找答案的 QQ 机器人")
    parser.add_argument("--env-file", type=Path, help="设置文件，默认是程序目录里的 .env")
    named = parser.parse_args().env_file

    from services.errors import DataDirectoryError, ServiceError, SettingsError

    if named is not None and not named.is_file():
        print(f"启动失败：{SettingsError(f'没有 --env-file 指定的文件 {named}。').told()}", file=sys.stderr)
        return 2
    env_file = ROOT / ".env" if named is None else named.resolve()
    # NoneBot finds the plugins relative to the working directory.
    os.chdir(ROOT)

    from filelock import FileLock, Timeout

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
        _hide_from_nonebot(type(settings))
        _set_up_log(settings)
        load(settings)
    except ServiceError as error:
        print(f"启动失败：{error.told()}", file=sys.stderr)
        return 2
    except OSError as error:
        refusal = DataDirectoryError(f"数据目录用不了，请检查 DATA_DIR 的权限和磁盘空间（{error}）。")
        print(f"启动失败：{refusal.told()}", file=sys.stderr)
        return 2

    import nonebot

    from qq.connection.server import Server

    Server(nonebot.get_app(), settings.host, settings.port).run()
    return 0


def _end_at_once(_signal: int, _frame: object) -> None:
    """End the process at once, because there is nothing to close yet."""
    os._exit(0)


def _check_port(host: str, port: int) -> None:
    from services.errors import SettingsError

    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SettingsError(f"地址 {host}:{port} 用不了，可能被别的程序占着，请改 HOST 或 PORT。") from error


def load(settings: "Settings") -> None:
    """Initialise NoneBot and load the plugins. Raise `SettingsError` if one of them cannot be loaded."""
    import nonebot
    from nonebot.compat import model_config
    from nonebot.config import Env

    from qq.connection.reverse_websocket import ReverseWebSocketAdapter
    from services.errors import SettingsError

    # NoneBot reads the name of its environment from `.env` before it asks which file to read.
    model_config(Env)["env_file"] = None
    nonebot.init(
        # Name a file without settings. An empty sequence would mean `.env` and `.env.prod` in the working directory.
        _env_file=[os.devnull],
        driver="~fastapi",
        fastapi_openapi_url=None,
        fastapi_docs_url=None,
        fastapi_redoc_url=None,
        port=settings.port,
        log_level=settings.log_level,
        api_timeout=settings.api_timeout,
        superusers=set(settings.superusers),
        nickname=set(settings.nickname),
        command_start={*settings.command_start, *(("／",) if "/" in settings.command_start else ())},
        qunzhi=settings,
    )
    # The token bypasses NoneBot's configuration, because NoneBot writes its configuration to the log at DEBUG.
    token = settings.onebot_access_token.get_secret_value()
    nonebot.get_driver().register_adapter(ReverseWebSocketAdapter, token=token)
    wanted = {path.stem for path in (*Path("plugins").glob("[!_]*.py"), *Path("plugins").glob("[!_]*/"))}
    loaded = {plugin.name for plugin in nonebot.load_plugins("plugins")}
    if missing := sorted(wanted - loaded):
        raise SettingsError(f"插件 {'、'.join(missing)} 没有加载成功，原因见上面的日志。")


def _hide_from_nonebot(settings: "type[Settings]") -> None:
    """Remove the environment variables that NoneBot or its adapter would read on their own.

    They would parse a token of digits as a number, and reject `a,b` as an error.
    """
    from nonebot.adapters.onebot.v11.config import Config as AdapterConfig
    from nonebot.config import Config

    names = set(settings.model_fields)
    for model in (Config, AdapterConfig):
        names |= {field.alias for field in model.model_fields.values() if field.alias} | set(model.model_fields)
    for variable in [variable for variable in os.environ if variable.lower().partition("__")[0] in names]:
        del os.environ[variable]


def _set_up_log(settings: "Settings") -> None:
    """Keep secrets out of the log, and messages except at DEBUG.

    NoneBot would log every message of every group in full and, at DEBUG, its whole configuration. Secrets may also
    stand in an address that a client asks for, or in what a service answers. Every line carries the number of its
    request, under which `/trace` finds it and which a person quotes after a failure.
    """
    from nonebot.log import LoguruHandler, default_filter, default_format, logger, logger_id

    from services.tracing.current import NUMBER_CHARS, current_origin

    level, secrets = settings.log_level, sorted(settings.secrets, key=len, reverse=True)

    def is_wanted(record: "Record") -> bool:
        passes = default_filter(record)
        # The lines of NoneBot and its adapter that repeat an event. The adapter of ours tells what cannot be parsed.
        texts = (" | [message", "Failed to parse event. Raw: ")
        is_text = record["name"] == "nonebot" and any(text in record["message"] for text in texts)
        return passes and (level == "DEBUG" or not is_text)

    def write(line: str) -> None:
        for secret in secrets:
            line = line.replace(secret, "***")
        sys.stdout.write(line)
        sys.stdout.flush()

    def form(_record: "Record") -> str:
        origin = current_origin()
        number = f"[{origin.uuid[:NUMBER_CHARS]}] " if origin else ""
        return default_format.replace("{message}", number + "{message}") + "\n{exception}"

    logger.remove(logger_id)
    logger.add(write, level=0, diagnose=False, filter=is_wanted, format=form, colorize=sys.stdout.isatty())
    for name in ("services", "plugins", "qq", "simulator"):
        ours = logging.getLogger(name)
        ours.addHandler(LoguruHandler())
        ours.setLevel("INFO" if settings.log_level == "SUCCESS" else settings.log_level)
        ours.propagate = False


if __name__ == "__main__":
    sys.exit(main())
