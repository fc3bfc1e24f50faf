"""The main job works in both deployments."""

import base64
import hashlib
import hmac
from datetime import timedelta

import pytest
from standardwebhooks.webhooks import Webhook

from ingot_chassis.clock import now
from ingot_testing.receiver import ReceivedRequest

from .main_job import MainJob, check_signatures


@pytest.mark.both_deployments
async def test_the_main_job(deployment, tmp_path, receiver):
    await MainJob(deployment.url, tmp_path, receiver).run()


@pytest.mark.parametrize("body", [b"{}", b"{ }"])
def test_signatures_are_compared_however_long_the_job_took(body):
    secret, moment = "whsec_" + base64.b64encode(bytes(32)).decode(), now() - timedelta(hours=1)
    headers = {
        "X-Hub-Signature-256": f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}",
        "webhook-id": "1",
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": f"v1,other {Webhook(secret).sign('1', moment, '{}')}",
    }
    request = ReceivedRequest("POST", "/", headers, body)
    if body == b"{}":
        check_signatures(secret, request)
    else:
        with pytest.raises(AssertionError):
            check_signatures(secret, request)
