"""The request class of the gateway's own routes."""

from ingot_chassis.http.request import ApiRequest
from ingot_gateway.settings import Settings


class GatewayRequest(ApiRequest):
    """A request that the gateway answers itself."""

    @property
    def settings(self) -> Settings:
        return self.app.state.settings  # type: ignore[no-any-return]
