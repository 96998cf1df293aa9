/** What the assertions of `shop.scr` call. */

/** Whether the account is that of the customer; nobody knows while the database is down. */
export function knownCustomer(name: string, account: string): boolean {
    if (account === "broken") {
        throw new Error("the database is down");
    }
    return account === `account of ${name}`;
}
