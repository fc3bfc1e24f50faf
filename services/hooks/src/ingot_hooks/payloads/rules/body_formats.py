"""The body of a delivery by the type of the hook: the native payload, or a message for a chat."""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import msgspec

from ingot_hooks.catalog.store.tables import HookType
from ingot_hooks.payloads.rules import notices
from ingot_hooks.payloads.rules.notices import Notice
from ingot_hooks.payloads.rules.summaries import Line, Summary, clip, render_line, summary_of

MAX_TITLE = 256
MAX_DESCRIPTION = 4000
MAX_TELEGRAM = 4096


def body_for(type_: HookType, settings: Mapping[str, str], notice: Notice) -> bytes:
    """Return the JSON text that a hook of ``type_`` gets for ``notice``."""
    message = CHATS.get(type_)
    if message is None:
        return notices.native(notice)
    return msgspec.json.encode(message(summary_of(notice), settings, notice.event))


def slack(summary: Summary, settings: Mapping[str, str], event: str) -> dict[str, Any]:
    """Return a Slack message. Its text cannot mention a person or a channel."""
    text = "\n".join(_slack(line) for line in summary.detail)
    attachment = {
        "fallback": _slack(summary.headline),
        "color": settings.get("color") or f"#{summary.color}",
        "title": "",
        "text": text,
    }
    return {
        "channel": settings.get("channel", ""),
        "text": _slack(summary.headline),
        "username": settings.get("username", ""),
        "icon_url": settings.get("icon_url", ""),
        "unfurl_links": 0,
        "link_names": 0,
        "attachments": None if event == "create" else [attachment] if text else [],
    }


def discord(summary: Summary, settings: Mapping[str, str], _event: str) -> dict[str, Any]:
    """Return a Discord message. All text is in an embed, where mentions do not notify."""
    sender, repository = summary.sender, summary.repository
    embed: dict[str, Any] = {
        "title": clip(_plain(summary.headline), MAX_TITLE),
        "description": clip("\n".join(_markdown(line) for line in summary.detail), MAX_DESCRIPTION),
        "url": summary.url or None,
        "color": int(summary.color, 16),
        "footer": {"text": ""},
        "author": {
            "name": clip(sender.login, MAX_TITLE),
            "url": repository.html_url.removesuffix(repository.full_name) + sender.login,
            "icon_url": sender.avatar_url or None,
        },
        "fields": [],
    }
    return {
        "wait": False,
        "content": "",
        "username": settings.get("username", ""),
        "avatar_url": settings.get("icon_url", ""),
        "tts": False,
        "embeds": [embed],
    }


def dingtalk(summary: Summary, _settings: Mapping[str, str], _event: str) -> dict[str, Any]:
    """Return a DingTalk card, or plain text if there is no URL to link to."""
    title = _plain(summary.headline)
    if not summary.url:
        return {"msgtype": "text", "text": {"content": title}}
    return {
        "msgtype": "actionCard",
        "actionCard": {
            "text": "\n\n".join([_markdown(summary.headline), *(_markdown(line) for line in summary.detail)]),
            "title": title,
            "hideAvatar": "0",
            "btnOrientation": "",
            "singleTitle": "view",
            "singleURL": summary.url,
            "btns": None,
        },
    }


def telegram(summary: Summary, _settings: Mapping[str, str], _event: str) -> dict[str, Any]:
    """Return the arguments of sendMessage of a Telegram bot. The URL of the hook names the chat."""
    lines = [summary.headline, *summary.detail]
    text, room = [], MAX_TELEGRAM
    for line in lines:
        written = _html(line)
        if len(written) > room:  # Telegram refuses a message with incomplete markup.
            break
        text.append(written)
        room -= len(written) + 1
    return {"text": "\n".join(text), "parse_mode": "HTML", "disable_web_page_preview": True}


def msteams(summary: Summary, _settings: Mapping[str, str], _event: str) -> dict[str, Any]:
    """Return a card of Microsoft Teams' connectors."""
    title = _plain(summary.headline)
    action = {
        "@type": "OpenUri",
        "name": "View",
        "targets": [{"os": "default", "uri": summary.url}],
    }
    return {
        "@type": "MessageCard",
        "@context": "https://schema.org/extensions",
        "themeColor": summary.color,
        "title": title,
        "summary": title,
        "sections": [
            {
                "activityTitle": summary.sender.full_name or summary.sender.login,
                "activitySubtitle": summary.sender.login,
                "activityImage": summary.sender.avatar_url,
                "text": "\n\n".join(_markdown(line) for line in summary.detail),
                "facts": [{"name": "Repository:", "value": summary.repository.full_name}],
            }
        ],
        "potentialAction": [action] if summary.url else [],
    }


def feishu(summary: Summary, _settings: Mapping[str, str], _event: str) -> dict[str, Any]:
    """Return a text message for a bot of Feishu, where texts have no markup."""
    lines = [_plain(summary.headline), *(_plain(line) for line in summary.detail)]
    return {"msg_type": "text", "content": {"text": "\n".join([*lines, summary.url]).strip()}}


def matrix(summary: Summary, _settings: Mapping[str, str], _event: str) -> dict[str, Any]:
    """Return a notice in a Matrix room, as plain text and as HTML."""
    lines = [summary.headline, *summary.detail]
    return {
        "msgtype": "m.notice",
        "body": "\n".join(_plain(line) for line in lines),
        "format": "org.matrix.custom.html",
        "formatted_body": "<br>".join(_html(line).replace("\n", "<br>") for line in lines),
    }


def with_transaction(url: str, delivery_id: str) -> str:
    """Return the URL of a Matrix message. The id in its path makes the request idempotent."""
    path, mark, query = url.partition("?")
    return f"{path.rstrip('/')}/{delivery_id}{mark}{query}"


CHATS: Mapping[HookType, Callable[[Summary, Mapping[str, str], str], dict[str, Any]]] = {
    HookType.SLACK: slack,
    HookType.DISCORD: discord,
    HookType.DINGTALK: dingtalk,
    HookType.TELEGRAM: telegram,
    HookType.MSTEAMS: msteams,
    HookType.FEISHU: feishu,
    HookType.MATRIX: matrix,
}
FORM_TYPES = (HookType.GITEA, HookType.GOGS, HookType.SLACK)
"""Types whose receivers can read a form. Other types get JSON, whatever the hook says."""


def _slack(line: Line) -> str:
    return render_line(line, _escaped, lambda url, text: f"<{url}|{text}>")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _markdown(line: Line) -> str:
    return render_line(line, lambda text: text, lambda url, text: f"[{text.replace(']', '')}]({url})")


def _html(line: Line) -> str:
    return render_line(line, escape, lambda url, text: f'<a href="{escape(url)}">{text}</a>')


def _plain(line: Line) -> str:
    return render_line(line, lambda text: text, lambda _url, text: text)
