/** A session cannot go on. `blame` is the peer that broke the protocol, if one did. */
export class SessionError extends Error {
    constructor(message: string, readonly blame: string | null = null) {
        super(message);
        this.name = new.target.name;
    }
}

/** This program wants to send what the protocol forbids. Nothing has left. */
export class Refused extends SessionError {}

/** A peer has broken the protocol. */
export class Violated extends SessionError {}

/** A peer has ended the session before its end. */
export class Ended extends SessionError {}

/** This program uses a state of the session that it has left. */
export class Used extends SessionError {}

/** A predicate of this program has no answer: nobody is to blame. */
export class PredicateFailed extends SessionError {}

/** No message has begun to arrive in its time. Nobody is blamed: how long what was sent is on its way is not known here. */
export class Late extends SessionError {}

/** JSON, with integers of any size. */
export type Json = null | boolean | bigint | number | string | readonly Json[] | ReadonlyMap<string, Json>;

/** A message as it came: from whom, its label, its fields. */
export interface Received {
    readonly peer: string;
    readonly label: string;
    readonly fields: ReadonlyMap<string, Json>;
}

/** How messages travel: a label, and each field under its name. */
export interface Link {
    /** Sends a message to `peer`. */
    send(peer: string, label: string, fields: ReadonlyMap<string, Json>): Promise<void>;
    /** The next message of one of `peers`, which the protocol may want `within` so many milliseconds. */
    receive(peers: readonly string[], within: number | null): Promise<Received>;
    /** The session is over, or aborted: then every peer is told. */
    end(over: boolean): void;
}

/** What a link needs of a connection; a socket of Node's `net` is one. */
export interface Connection extends AsyncIterable<Uint8Array> {
    write(data: Uint8Array): unknown;
    end(): unknown;
}

/** A link over connections, one for each peer: one JSON object a line, its label under `type`. */
export class JsonLines implements Link {
    private readonly lines = new Map<string, AsyncGenerator<string, undefined>>();
    /** What has arrived of the next line, by peer. */
    private readonly begun = new Map<string, number[]>();

    /** With `tolerance`, so many milliseconds more are waited for a message than the protocol says. */
    constructor(private readonly connections: ReadonlyMap<string, Connection>, maxLine = 1 << 20, private readonly tolerance = 0) {
        connections.forEach((connection, peer) => {
            const begun: number[] = [];
            this.begun.set(peer, begun);
            this.lines.set(peer, linesOf(peer, connection, maxLine, begun));
        });
    }

    /** A link to one peer. */
    static over(peer: string, connection: Connection): JsonLines {
        return new JsonLines(new Map([[peer, connection]]));
    }

    async send(peer: string, label: string, fields: ReadonlyMap<string, Json>): Promise<void> {
        const message = new Map<string, Json>([["type", label], ...fields]);
        this.connections.get(peer)?.write(new TextEncoder().encode(written(message) + "\n"));
    }

    async receive(peers: readonly string[], within: number | null): Promise<Received> {
        const [peer] = peers;
        if (peer === undefined || peers.length !== 1) {
            throw new SessionError(`this link cannot wait for several connections at once: ${peers.join(", ")}`);
        }
        const next = this.lines.get(peer)?.next();
        const line = within === null || next === undefined ? await next : await this.inTime(peer, next, within);
        if (line === undefined || line.value === undefined) {
            throw new Ended(`${peer} ended the session before its end`, peer);
        }
        const fields = this.parsed(peer, line.value);
        const label = fields.get("type");
        if (typeof label !== "string") {
            throw new Violated(`${peer} sent what is no message: no \`type\``, peer);
        }
        fields.delete("type");
        return { peer, label, fields };
    }

    /** What `next` gives, if it begins to arrive in time. */
    private async inTime<T>(peer: string, next: Promise<T>, within: number): Promise<T> {
        const longest = within + this.tolerance;
        // Timers count milliseconds in 31 bits.
        if (longest >= 2 ** 31) {
            return next;
        }
        const late = new Late(`nothing came from ${peer} within ${longest} ms`);
        let timer: ReturnType<typeof setTimeout> | undefined;
        const over = new Promise<never>((_, reject) => {
            timer = setTimeout(() => {
                if (this.begun.get(peer)?.length === 0) {
                    next.catch(() => {});
                    reject(late);
                }
            }, longest);
        });
        try {
            return await Promise.race([next, over]);
        } finally {
            clearTimeout(timer);
        }
    }

    private parsed(peer: string, line: string): Map<string, Json> {
        let message: Json;
        try {
            message = new Parser(line).document();
        } catch (error) {
            throw new Violated(`${peer} sent what is no message: ${reason(error)}`, peer);
        }
        if (!(message instanceof Map)) {
            throw new Violated(`${peer} sent what is no message: no object`, peer);
        }
        return message as Map<string, Json>;
    }

    end(over: boolean): void {
        void over;
        this.connections.forEach((connection) => connection.end());
    }
}

function reason(error: unknown): string {
    return error instanceof Error ? error.message : String(error);
}

async function* linesOf(peer: string, connection: Connection, maxLine: number, left: number[]): AsyncGenerator<string, undefined> {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    try {
        for await (const chunk of connection) {
            for (const byte of chunk) {
                if (byte !== 10) {
                    if (left.length >= maxLine) {
                        throw new Violated(`${peer} sent what is no message: a line that is too long`, peer);
                    }
                    left.push(byte);
                    continue;
                }
                let line: string;
                try {
                    line = decoder.decode(Uint8Array.from(left));
                } catch {
                    throw new Violated(`${peer} sent what is no message: it is not UTF-8`, peer);
                }
                left.length = 0;
                yield line;
            }
        }
    } catch (error) {
        if (error instanceof SessionError) {
            throw error;
        }
    }
    return undefined;
}

/** JSON as text; `JSON.stringify` has no integers of 64 bits. */
function written(value: Json): string {
    if (typeof value === "bigint") {
        return value.toString();
    }
    if (typeof value === "number") {
        if (!Number.isFinite(value)) {
            throw new Refused(`${value} is no number of JSON`);
        }
        const text = Object.is(value, -0) ? "-0" : String(value);
        return /[.e]/.test(text) ? text : `${text}.0`;
    }
    if (value instanceof Map) {
        const members = [...(value as ReadonlyMap<string, Json>)];
        return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${written(member)}`).join(",")}}`;
    }
    if (Array.isArray(value)) {
        return `[${(value as readonly Json[]).map(written).join(",")}]`;
    }
    if (typeof value === "string" && /\p{Surrogate}/u.test(value)) {
        throw new Refused("a text has half a character");
    }
    return JSON.stringify(value);
}

/** A reader of JSON: integers are `bigint`, a name that occurs twice in an object is an error. */
class Parser {
    private at = 0;

    constructor(private readonly text: string) {}

    document(): Json {
        const value = this.value(0);
        this.blanks();
        if (this.at < this.text.length) {
            throw new SyntaxError("something follows the value");
        }
        return value;
    }

    private blanks(): void {
        while (" \t\r\n".includes(this.text[this.at] ?? "x")) {
            this.at += 1;
        }
    }

    private value(depth: number): Json {
        if (depth > 64) {
            throw new SyntaxError("it is nested too deep");
        }
        this.blanks();
        const rest = this.text.slice(this.at, this.at + 5);
        for (const [word, value] of [["null", null], ["true", true], ["false", false]] as const) {
            if (rest.startsWith(word)) {
                this.at += word.length;
                return value;
            }
        }
        switch (this.text[this.at]) {
            case "{":
                return this.object(depth);
            case "[":
                return this.array(depth);
            case "\"":
                return this.string();
            default:
                return this.number();
        }
    }

    /** Whether `character` is next: then it is taken. */
    private takes(character: string): boolean {
        this.blanks();
        if (this.text[this.at] !== character) {
            return false;
        }
        this.at += 1;
        return true;
    }

    private expect(character: string): void {
        if (!this.takes(character)) {
            throw new SyntaxError(`\`${character}\` is missing`);
        }
    }

    private object(depth: number): Json {
        const members = new Map<string, Json>();
        this.expect("{");
        if (this.takes("}")) {
            return members;
        }
        do {
            this.blanks();
            const name = this.string();
            this.expect(":");
            if (members.has(name)) {
                // Readers differ in which of two they take.
                throw new SyntaxError("an object with a name twice");
            }
            members.set(name, this.value(depth + 1));
        } while (this.takes(","));
        this.expect("}");
        return members;
    }

    private array(depth: number): Json {
        const values: Json[] = [];
        this.expect("[");
        if (this.takes("]")) {
            return values;
        }
        do {
            values.push(this.value(depth + 1));
        } while (this.takes(","));
        this.expect("]");
        return values;
    }

    private string(): string {
        const found = /"(?:[^"\\\u0000-\u001f]|\\.)*"/y;
        found.lastIndex = this.at;
        const quoted = found.exec(this.text)?.[0];
        if (quoted === undefined) {
            throw new SyntaxError("a string is missing, or has no end");
        }
        this.at += quoted.length;
        const text = JSON.parse(quoted) as string;
        if (/\p{Surrogate}/u.test(text)) {
            throw new SyntaxError("half a character");
        }
        return text;
    }

    private number(): Json {
        const found = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
        found.lastIndex = this.at;
        const digits = found.exec(this.text)?.[0];
        if (digits === undefined || digits === "") {
            throw new SyntaxError("no value");
        }
        this.at += digits.length;
        return /[.eE]/.test(digits) || digits === "-0" ? Number(digits) : BigInt(digits);
    }
}

/** Sessions that nobody holds any more are aborted: the others are told. */
const dropped = new FinalizationRegistry((link: Link) => link.end(false));

/** What the states of one session share: the link, and whose turn it is. */
export class Session {
    private turn = 0;
    private over = false;

    constructor(readonly link: Link) {
        dropped.register(this, link, this);
    }

    /** Leaves the state of `turn`; gives the turn of the next. */
    step(turn: number): number {
        if (turn !== this.turn || this.over) {
            throw new Used("this state of the session was left before");
        }
        this.turn += 1;
        return this.turn;
    }

    /** The session is over, or aborted. */
    end(over: boolean): void {
        this.over = true;
        dropped.unregister(this);
        this.link.end(over);
    }

    /** The session cannot go on: the others are told. */
    fail(error: unknown): never {
        this.end(false);
        throw error;
    }

    /** What came from `peer` is wrong: its types, or what must hold; or a predicate has no answer. */
    blame(error: unknown, peer: string, mistyped: string, untrue: string): never {
        if (error instanceof WrongType || error instanceof Undefined) {
            this.fail(new Violated(error instanceof WrongType ? mistyped : untrue, peer));
        }
        return this.fail(error);
    }

    async send(peer: string, label: string, fields: ReadonlyMap<string, Json>): Promise<void> {
        try {
            await this.link.send(peer, label, fields);
        } catch (error) {
            this.fail(error);
        }
    }

    async receive(peers: readonly string[], within: number | null): Promise<Received> {
        try {
            return await this.link.receive(peers, within);
        } catch (error) {
            return this.fail(error);
        }
    }
}

/** An expression has no value: an overflow, a division by zero, an index outside its list. */
class Undefined extends Error {}

/** What `check` gives; where it has no value, nothing is sent. */
function admitted<T>(check: () => T, text: string): T {
    try {
        return check();
    } catch (error) {
        throw error instanceof Undefined ? new Refused(text) : error;
    }
}

function int64(value: bigint): bigint {
    if (BigInt.asIntN(64, value) !== value) {
        throw new Undefined();
    }
    return value;
}

function divide(left: bigint, right: bigint): bigint {
    if (right === 0n) {
        throw new Undefined();
    }
    return int64(left / right);
}

function remainder(left: bigint, right: bigint): bigint {
    return left - divide(left, right) * right;
}

function magnitude(value: bigint): bigint {
    return int64(value < 0n ? -value : value);
}

function floatToInt(value: number): bigint {
    if (!(value >= -9223372036854775808 && value < 9223372036854775808)) {
        throw new Undefined();
    }
    return BigInt(Math.trunc(value));
}

function parseInteger(text: string): bigint {
    if (!/^[+-]?[0-9]{1,4000}$/.test(text) || text.endsWith("\n")) {
        throw new Undefined();
    }
    return int64(BigInt(text.replace(/^\+/, "")));
}

function parseReal(text: string): number {
    if (!/^[+-]?(inf|infinity|nan|([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?)$/i.test(text) || text.endsWith("\n")) {
        throw new Undefined();
    }
    const sign = text.startsWith("-") ? -1 : 1;
    const digits = text.replace(/^[+-]/, "").toLowerCase();
    return sign * (digits.startsWith("inf") ? Infinity : digits === "nan" ? NaN : Number(digits));
}

/** The shortest decimal that reads back the same, without an exponent. */
function showFloat(value: number): string {
    if (!Number.isFinite(value)) {
        return Number.isNaN(value) ? "NaN" : value > 0 ? "inf" : "-inf";
    }
    const sign = value < 0 || Object.is(value, -0) ? "-" : "";
    const [digits = "", exponent = "0"] = String(Math.abs(value)).split("e");
    const [whole = "", fraction = ""] = digits.split(".");
    const shift = Number(exponent);
    if (shift >= 0) {
        const moved = fraction.padEnd(shift, "0");
        const rest = moved.slice(shift);
        return sign + whole + moved.slice(0, shift) + (rest === "" ? "" : `.${rest}`);
    }
    return `${sign}0.${"0".repeat(-shift - 1)}${whole}${fraction}`;
}

function textOf(value: Uint8Array): string {
    try {
        return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(value);
    } catch {
        throw new Undefined();
    }
}

/** The answer of a predicate of this program; one that throws has none. */
function ask<T>(name: string, answer: () => T): T {
    try {
        return answer();
    } catch (error) {
        if (error instanceof Undefined || error instanceof PredicateFailed) {
            throw error;
        }
        throw new PredicateFailed(`\`${name}\` has no answer: ${reason(error)}`);
    }
}

function element<T>(values: readonly T[], index: bigint): T {
    const found = index >= 0n && index < BigInt(values.length) ? values[Number(index)] : undefined;
    if (found === undefined) {
        throw new Undefined();
    }
    return found;
}

/** An operand equal to `settled` decides; else the first failure; else all say the opposite. */
function settle(settled: boolean, operands: readonly (() => boolean)[]): boolean {
    let failure: unknown = null;
    for (const operand of operands) {
        try {
            if (operand() === settled) {
                return settled;
            }
        } catch (error) {
            if (!(error instanceof Undefined || error instanceof PredicateFailed)) {
                throw error;
            }
            failure ??= error;
        }
    }
    if (failure !== null) {
        throw failure;
    }
    return !settled;
}

type Ordered = bigint | number | string | boolean | Uint8Array;

/** Text is ordered by code points, bytes by bytes; no comparison with NaN holds. */
function less<T extends Ordered>(left: T, right: T): boolean {
    if (typeof left === "string" || left instanceof Uint8Array) {
        const [a, b] = [[...codes(left)], [...codes(right)]];
        const at = a.findIndex((code, index) => code !== b[index]);
        return at < 0 ? a.length < b.length : at < b.length && (a[at] as number) < (b[at] as number);
    }
    return typeof left === "bigint" && typeof right === "bigint" ? left < right : Number(left) < Number(right);
}

function codes(value: Ordered): Iterable<number> {
    return value instanceof Uint8Array ? value : [...String(value)].map((character) => character.codePointAt(0) ?? 0);
}

function notAbove<T extends Ordered>(left: T, right: T): boolean {
    return less(left, right) || equal(left, right);
}

function least<T extends Ordered>(first: T, ...rest: readonly T[]): T {
    return rest.reduce((best, value) => (less(value, best) ? value : best), first);
}

function greatest<T extends Ordered>(first: T, ...rest: readonly T[]): T {
    return rest.reduce((best, value) => (less(best, value) ? value : best), first);
}

/** Structural, floats as IEEE 754 says: NaN is unequal to itself wherever it is. */
function equal(left: unknown, right: unknown): boolean {
    if (Array.isArray(left) || left instanceof Uint8Array) {
        const [a, b] = [left, right] as readonly ArrayLike<unknown>[];
        return a!.length === b!.length && Array.from(a!).every((part, index) => equal(part, b![index]));
    }
    if (typeof left === "object" && left !== null) {
        const other = right as Record<string, unknown>;
        return Object.entries(left).every(([name, part]) => equal(part, other[name]));
    }
    return left === right;
}

function contains(value: unknown, values: readonly unknown[]): boolean {
    return values.some((part) => equal(part, value));
}

interface Pattern {
    readonly classes: readonly number[];
    readonly width: number;
    readonly next: readonly number[];
    readonly accepts: readonly boolean[];
}

/** Whether a pattern, as a table of states by classes of bytes, occurs in `text`. */
function matches(table: Pattern, text: string): boolean {
    let state = 0;
    const follow = (column: number): number => table.next[state * table.width + column] ?? 0;
    for (const byte of new TextEncoder().encode(text)) {
        if (table.accepts[state]) {
            return true;
        }
        state = follow(table.classes[byte] ?? 0);
    }
    return (table.accepts[state] || table.accepts[follow(table.width - 1)]) ?? false;
}

/** A value has not its type. */
class WrongType extends Error {}

function typed<T extends Json>(is: (value: Json) => value is T, value: Json | undefined): T {
    if (value === undefined || !is(value)) {
        throw new WrongType();
    }
    return value;
}

const readUnit = (value: Json | undefined): null => typed((found): found is null => found === null, value);
const readBool = (value: Json | undefined): boolean => typed((found): found is boolean => typeof found === "boolean", value);
const readText = (value: Json | undefined): string => typed((found): found is string => typeof found === "string", value);
const readBytes = (value: Json | undefined): Uint8Array => new TextEncoder().encode(readText(value));
const readOpaque = (value: Json | undefined): string => (typeof value === "string" ? value : written(value ?? null));

function readInt(value: Json | undefined): bigint {
    const found = typed((found): found is bigint => typeof found === "bigint", value);
    if (BigInt.asIntN(64, found) !== found) {
        throw new WrongType();
    }
    return found;
}

function readFloat(value: Json | undefined): number {
    const found = Number(typed((found): found is bigint | number => typeof found === "bigint" || typeof found === "number", value));
    if (!Number.isFinite(found)) {
        throw new WrongType();
    }
    return found;
}

function readParts(value: Json | undefined, count: number | null): readonly Json[] {
    const found = typed((found): found is readonly Json[] => Array.isArray(found), value);
    if (count !== null && found.length !== count) {
        throw new WrongType();
    }
    return found;
}

function readRecord(value: Json | undefined, count: number): ReadonlyMap<string, Json> {
    const found = typed((found): found is ReadonlyMap<string, Json> => found instanceof Map, value);
    if (found.size !== count) {
        throw new WrongType();
    }
    return found;
}
