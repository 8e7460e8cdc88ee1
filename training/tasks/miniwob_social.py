"""Plans for MiniWoB tasks on a wall of posts, each with a row of pictures below it: answer, repost, like, and more.

The pictures have no words, so the thoughts say which in the row is meant. That one was clicked shows only in its
colour; the thoughts keep in mind which posts are done, and posts are taken from the top down.
"""

from __future__ import annotations

import re

from agent_core.actions import Scroll
from training.tasks.miniwob_page import HEIGHT, Node, PageState
from training.tasks.miniwob_plans import button
from training.tasks.teacher import Move, click

PICTURES = {"Reply": 0, "Retweet": 1, "Like": 2, "Share": 3}
ORDINALS = ("1st", "2nd", "3rd", "4th")
_OPEN_MENU = """(() => {
  const open = document.querySelector('#area ul:not(.hide)');
  return open ? open.closest('.media').querySelector('.username').textContent : '';
})()"""
LOWEST = HEIGHT - 4  # CSS pixels; a picture must end above it to be seen whole


def social_media(page: PageState) -> Move | None:
    """One thing to do with a post of one user; most things are in the menu behind the last picture."""
    match = re.fullmatch(r'For the user (\S+), click on the "(.+)" button\.', page.query)
    if match is None:
        return None
    user, action = match.groups()
    if page.ask(_OPEN_MENU) == user:
        return _entry(page, user, action)
    post = next((p for p in page.with_class("media") if _user(page, p) == user), None)
    if post is None:
        return _scroll(f'"{user}" is not shown')
    if action in PICTURES:
        return _picture(page, post, action, f'"{user}" is found')
    more = _picture_node(page, post, "more")
    if more is None:
        return _scroll(f'"{user}" is cut off')
    say = f'"{user}" is found; open the menu, the 4th picture below.'
    return Move(say, more, ("icon",), shown=(user,), named=False)


def _entry(page: PageState, user: str, action: str) -> Move:
    """The menu hides part of the posts below, whose words run into those of the entries."""
    entry = next((n for n in page.all("li") if n.text.startswith(action)), None)
    if entry is None or entry.bottom > LOWEST:
        return _scroll(f'The menu of "{user}" is open, "{action}" is not shown')
    say = f'The menu is open; click "{entry.text}".'
    return Move(say, entry, ("text", "button"), shown=(entry.text,), named=False)


def social_media_all(page: PageState) -> Move | None:
    """The same picture on all posts of a user, then the button below the last post."""
    match = re.fullmatch(r'Click the "(\w+)" button on all posts by (\S+) and then click Submit\.', page.query)
    return None if match is None else _on_posts(page, match[1], match[2], 99)


def social_media_some(page: PageState) -> Move | None:
    """The same picture on as many posts of a user as the task says."""
    match = re.fullmatch(r'Click the "(\w+)" button on (\d+) posts? by (\S+) and then click Submit\.', page.query)
    return None if match is None else _on_posts(page, match[1], match[3], int(match[2]))


def _on_posts(page: PageState, action: str, user: str, amount: int) -> Move | None:
    done = int(page.ask("document.querySelectorAll('#area .active').length"))
    for post in page.with_class("media") if done < amount else ():
        if _user(page, post) == user and not _is_on(page, post, action) and _picture_node(page, post, action):
            words = next((n.text for n in _inside(page, post, "div") if n.has_class("body")), "")
            return _picture(page, post, action, f'Post {done + 1} of "{user}", "{" ".join(words.split()[:2])}"')
    submit = button(page, "Submit")
    if submit is not None and submit.bottom <= HEIGHT:
        return click(submit, f'{done} posts of "{user}" are done; click {{label}}.')
    if done < amount:
        return _scroll(f'{done} posts of "{user}" are done so far')
    return Move(f'All {done} posts of "{user}" are done; scroll down to the end.', then=(Scroll("down"),))


def _picture(page: PageState, post: Node, action: str, why: str) -> Move:
    picture = _picture_node(page, post, action)
    if picture is None:
        return _scroll(f"{why}, but cut off")
    say = f"{why}: click {action}, the {ORDINALS[PICTURES[action]]} picture below."
    return Move(say, picture, ("icon",), shown=(_user(page, post),), named=False)


def _picture_node(page: PageState, post: Node, action: str) -> Node | None:
    found = next((n for n in _inside(page, post) if n.has_class(action.lower())), None)
    return found if found is not None and found.bottom <= LOWEST else None


def _is_on(page: PageState, post: Node, action: str) -> bool:
    return any(n.has_class(action.lower()) and n.has_class("active") for n in _inside(page, post))


def _inside(page: PageState, post: Node, tag: str = "span") -> list[Node]:
    return [n for n in page.nodes if n.tag == tag and post.top <= n.top and n.bottom <= post.bottom + 1]


def _user(page: PageState, post: Node) -> str:
    return next((n.text for n in _inside(page, post) if n.has_class("username")), "")


def _scroll(why: str) -> Move:
    return Move(f"{why}; scroll down.", then=(Scroll("down", notches=1),))


PLANS = {
    "social-media": social_media,
    "social-media-all": social_media_all,
    "social-media-some": social_media_some,
}
