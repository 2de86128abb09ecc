"""What stands before the site: who asks too often, or without a password, gets no further."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus

from exporter.model.web import Web
from exporter.publish.site import Request, Response, Site, text_response
from exporter.publish.web.passwords import Passwords, TooManyError, parse
from exporter.publish.web.rate import Bucket

_WHO = {"WWW-Authenticate": 'Basic realm="proctree-exporter", charset="UTF-8"'}


class Guard:
    """Answers requests, in as many threads as there are."""

    def __init__(self, site: Site, current: Callable[[], Web]) -> None:
        self._site, self._current = site, current
        self._passwords = Passwords()
        self._bucket: Bucket | None = None

    def answer(self, request: Request) -> Response:
        web = self._current()
        response = self._refusal(web, request) or self._site.answer(request)
        if not web.headers:
            return response
        return replace(response, headers={**dict(web.headers), **response.headers})

    def _refusal(self, web: Web, request: Request) -> Response | None:
        if web.rate and not self._bucket_of(web).take():
            return text_response("Too many requests.", HTTPStatus.TOO_MANY_REQUESTS)
        if not web.users:
            return None
        try:
            given = parse(request.authorization)
            if given and self._passwords.are_right(given, web.users, request.client):
                return None
        except TooManyError:
            told = "Too many passwords to check at once, come again."
            return text_response(told, HTTPStatus.SERVICE_UNAVAILABLE)
        return text_response("Unauthorized", HTTPStatus.UNAUTHORIZED, _WHO)

    def _bucket_of(self, web: Web) -> Bucket:
        """It lasts as long as its rate."""
        assert web.rate
        bucket = self._bucket
        if bucket is None or bucket.rate != web.rate:
            self._bucket = bucket = Bucket(web.rate)
        return bucket
