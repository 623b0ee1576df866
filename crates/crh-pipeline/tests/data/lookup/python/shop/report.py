from shop import cart as carts
from shop.cart import Cart, GiftCart
from shop.money import round_money as rounded

TOTALS = {"total": 0}


def print_report(items: "list[Cart]"):
    for item in items:
        print(item.show(), rounded(item.total()))
    print("round_money was used")


def main():
    print_report([carts.empty_cart(), GiftCart([])])
    handlers = [print_report]
    handlers[0]([])
