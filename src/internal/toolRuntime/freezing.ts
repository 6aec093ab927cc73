/**
 * A schema that decodes as another one, and freezes what it builds.
 *
 * Decoding builds structs, records, tuples and arrays anew. They are the call's own, and frozen: a body that writes to
 * its parameters must not change what its next attempt gets. What a schema passes on is not: the answer of a
 * transformation, a default, an instance of a class, whatever `Schema.declare`, `Unknown` and `Object` let through. It
 * may be the host's, shared with the whole process, so it stays as it is. (What they let through of the model's own
 * parameters is frozen already.)
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"

const freezeBuilt = (ast: AST.AST): AST.AST =>
  new AST.Refinement(ast, (built) => {
    Object.freeze(built)
    return Option.none()
  })

// A schema that is part of itself comes back to the same node.
const known = new WeakMap<AST.AST, AST.AST>()

const freezing = (ast: AST.AST): AST.AST => {
  let made = known.get(ast)
  if (made === undefined) {
    made = rebuild(ast)
    known.set(ast, made)
  }
  return made
}

const rebuild = (ast: AST.AST): AST.AST => {
  switch (ast._tag) {
    case "TypeLiteral":
      // Without any signature it lets objects through.
      if (ast.propertySignatures.length + ast.indexSignatures.length === 0) return ast
      return freezeBuilt(
        new AST.TypeLiteral(
          ast.propertySignatures.map(
            ({ annotations, isOptional, isReadonly, name, type }) =>
              new AST.PropertySignature(name, freezing(type), isOptional, isReadonly, annotations)
          ),
          ast.indexSignatures.map(
            ({ isReadonly, parameter, type }) => new AST.IndexSignature(parameter, freezing(type), isReadonly)
          ),
          ast.annotations
        )
      )
    case "TupleType":
      return freezeBuilt(
        new AST.TupleType(
          ast.elements.map(
            ({ annotations, isOptional, type }) => new AST.OptionalType(freezing(type), isOptional, annotations)
          ),
          ast.rest.map(({ annotations, type }) => new AST.Type(freezing(type), annotations)),
          ast.isReadonly,
          ast.annotations
        )
      )
    case "Union":
      return AST.Union.make(ast.types.map(freezing), ast.annotations)
    case "Suspend":
      return new AST.Suspend(() => freezing(ast.f()), ast.annotations)
    case "Refinement":
      return new AST.Refinement(freezing(ast.from), ast.filter, ast.annotations)
    case "Transformation":
      // What its author gets to transform is not what the handler gets.
      return new AST.Transformation(ast.from, freezing(ast.to), ast.transformation, ast.annotations)
    default:
      return ast
  }
}

/**
 * The schema that decodes as `schema` and freezes what it builds. It describes what is wrong in other words: ask `schema`
 * for those.
 *
 * @internal
 */
export const freezingWhatItBuilds = (schema: Schema.Schema.AnyNoContext): Schema.Schema.AnyNoContext =>
  Schema.make(freezing(schema.ast))
