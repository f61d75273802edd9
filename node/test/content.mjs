// What sessions in the tests say: messages of every role, with texts that are hard to keep.

const TEXTS = [
	"Is it done?",
	"",
	"line\nbreak\ttab \"quotes\" \\ back/slash",
	"Grüße, мир, 世界, 👩‍🚀 \u2028\u2029 \u0000\u001f\u007f",
	"lone \ud800 surrogate",
	"x".repeat(3000),
	'{"kind":"entry","seq":1}',
];

const usage = (dice) => {
	const [input, output, cacheRead, cacheWrite] = [0, 0, 0, 0].map(() => dice.below(5000));
	const cost = { input: input / 1e6, output: output / 1e5, cacheRead: 0, cacheWrite: 0.1 + 0.2 };
	return {
		input,
		output,
		cacheRead,
		cacheWrite,
		totalTokens: input + output + cacheRead + cacheWrite,
		cost: { ...cost, total: cost.input + cost.output + cost.cacheWrite },
	};
};

export function content(dice) {
	const text = () => dice.pick(TEXTS);
	const block = () => ({ type: "text", text: text() });
	const timestamp = () => 1_750_000_000_000 + dice.below(1_000_000_000);
	const messages = {
		user: () => ({ role: "user", content: dice.chance(50) ? text() : [block(), block()], timestamp: timestamp() }),
		assistant: () => ({
			role: "assistant",
			content: [
				{ type: "thinking", thinking: text(), thinkingSignature: "c2lnbmVk" },
				block(),
				{ type: "toolCall", id: `call-${dice.below(1000)}`, name: "read", arguments: { path: text(), n: 1.5e-7 } },
			],
			api: "anthropic-messages",
			provider: dice.pick(["anthropic", "openai"]),
			model: dice.pick(["claude-sonnet-4-5", "gpt-5"]),
			usage: usage(dice),
			stopReason: dice.pick(["stop", "toolUse", "length"]),
			timestamp: timestamp(),
		}),
		toolResult: () => ({
			role: "toolResult",
			toolCallId: `call-${dice.below(1000)}`,
			toolName: "read",
			content: [block(), { type: "image", data: "aGVsbG8=", mimeType: "image/png" }],
			details: { nested: [[], {}, null, true, -1, 1e21] },
			isError: dice.chance(20),
			timestamp: timestamp(),
		}),
		bashExecution: () => ({
			role: "bashExecution",
			command: "ls",
			output: text(),
			exitCode: 0,
			cancelled: false,
			truncated: false,
			timestamp: timestamp(),
		}),
	};
	return {
		text,
		/** What names something: no half of a pair of surrogates, which has no UTF-8. */
		name: () => text().replace("\ud800", "\u{1f600}"),
		usage: () => usage(dice),
		user: messages.user,
		assistant: messages.assistant,
		message: () => messages[dice.pick(Object.keys(messages))](),
	};
}
