"""Visitors of the pages to sign up, and the work that their browsers do."""

from ingot_identity.registrations.rules.work import is_solution

from ..applications import Person, forms
from ..world import PASSWORD

SIGN_UP, REGISTER = "/user/sign_up", "/user/register"
BITS = 4


def solve(challenge):
    return next(str(answer) for answer in range(2**20) if is_solution(challenge, str(answer)))


class Visitor(Person):
    """A browser without an account."""

    async def sign_up(self, address, *, headers=None, **fields):
        """Send the first form, with its proof of work if it asks for one."""
        page = await self.http.get(SIGN_UP)
        form = forms(page.text)[0][1] | {"email": address}
        if "challenge" in form:
            form["work"] = solve(form["challenge"])
        return await self.http.post(SIGN_UP, data=form | fields, headers=headers)

    async def register(self, link, name, **fields):
        """Send the form behind a link."""
        page = await self.http.get(link)
        assert page.status_code == 200, page.text
        form = forms(page.text)[0][1] | {"username": name, "password": PASSWORD, "repeated": PASSWORD}
        return await self.http.post(REGISTER, data=form | fields)
